// Tables of rows by 64-bit ids, as embeddings are: what a worker pushes and pulls of them.
//
//   auto t = s->open_rows("user", 64);
//   t->pull(ids, values).wait();        // 64 values of each id
//   compute(ids, values, gradients);
//   t->push(ids, gradients).wait();     // rows that do not exist are made
//   s->clock();
//
// Thread rule: that of the session.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tidegate/pending.hpp>
#include <tidegate/status.hpp>
#include <tidegate/table.hpp>

namespace tidegate {

namespace actors {
class row_calls;
}

// Columns of each row, side by side, with an optimizer and first values of their own. What an
// optimizer looks at together, as "rowwise_adagrad" and "group_adagrad" do, is those of one
// segment.
struct row_segment {
  std::uint32_t columns = 0;      // 1 to the width of a row
  tidegate::optimizer optimizer;  // one of rows, which is named
  // As in row_table_options.
  std::optional<float> init_uniform = std::nullopt;
  std::optional<float> init_constant = std::nullopt;
};

// A table of rows that a worker creates. Its rows are spread over parts by a hash of their ids,
// and parts over shards.
struct row_table_options {
  // "sgd", "adagrad", "rowwise_adagrad", "adam", "proximal", "ftrl" or "group_adagrad", which
  // step a row when it is pushed and at no other time, with the clock's correction of Adam's
  // biases.
  tidegate::optimizer optimizer;
  // At most one of the two is given; finite numbers. A row that nobody has pushed is uniform in
  // [-init_uniform, init_uniform), as a function of (job seed, table name, id, column), or has
  // this value everywhere. Neither is given: uniform in [-0.01, 0.01).
  std::optional<float> init_uniform = std::nullopt;
  std::optional<float> init_constant = std::nullopt;
  // Rows that there is room for; memory is taken as rows are made. A push that finds no room
  // fails. 16777216 where it is not given; not beside evict_rows.
  std::optional<std::uint64_t> capacity = std::nullopt;
  std::optional<std::uint32_t> parts = std::nullopt;  // 1 to 4096; 64 where it is not given
  // Steps with a push of its id that a row takes to be made, 1 to 65535: it makes the last of
  // them. What was pushed before is not applied, and a pull finds the first values. 1 where it
  // is not given.
  std::optional<std::uint64_t> admit_count = std::nullopt;
  // Ids whose pushes are counted, at most: those pushed longest ago are forgotten. As many as
  // rows where it is not given; only with admit_count above 1.
  std::optional<std::uint64_t> admit_candidates = std::nullopt;
  // A row that nobody has pushed for so many clocks is erased, and an id without one is counted
  // anew: in the first step of its part after that, or up to a sixteenth of that time later. An
  // id whose row is erased begins anew, when it is pushed again. Never where it is not given.
  std::optional<std::uint64_t> evict_unseen = std::nullopt;
  // Rows at most, no fewer than parts: a step that leaves more in one of the parts, of which
  // each has its share, rounded up, erases what is above 15/16 of that. By "lru" (those pushed
  // longest ago go, as where it is not given), "lfu" (those pushed least often), "l2" (those
  // with the least sum of squares).
  std::optional<std::uint64_t> evict_rows = std::nullopt;
  std::optional<std::string> evict_by = std::nullopt;
  // Bytes of values and optimizer state that each shard keeps in memory, 64 KiB for each part
  // and more: the rest lies in a file, and rows used last stay. All is in memory where it is
  // not given.
  std::optional<std::uint64_t> memory = std::nullopt;
  // In the order of the columns, 1 to 8, with all columns of a row together: in place of
  // `optimizer`, `init_uniform` and `init_constant`. None: all columns are alike.
  std::vector<row_segment> segments = {};
};

// A handle to a table of rows of the job; cheap to copy, valid as long as its session.
class row_table {
 public:
  row_table(actors::row_calls& home, std::uint32_t id, std::uint32_t dim) noexcept
      : home_(&home), id_(id), dim_(dim) {}

  std::uint32_t id() const noexcept { return id_; }
  std::uint32_t dim() const noexcept { return dim_; }  // float32 values of a row

  // Pushes gradients of rows: of ids[i], gradients [i * dim, (i + 1) * dim). Ids come in any
  // order; the gradients of an id that comes more than once are summed first, in their order.
  // Rows that do not exist are made. What is given is copied before the call returns. Between
  // workers, a mean is over all workers, whichever rows they push. Otherwise as session::push()
  // of a dense table, in the order within a clock, too. Errors: those of session::push();
  // invalid_argument (gradients of another size), over_limit (more than a frame takes: the
  // message says what to do).
  pending push(std::span<const std::uint64_t> ids, std::span<const float> gradients) const;
  // Pulls rows as the policy allows: out[i * dim, (i + 1) * dim) are the values of ids[i],
  // which come in any order and may repeat. A row that nobody has pushed has its first values;
  // no row is made. `ids` may go when the call returns, `out` when the pending is ready.
  // Errors: those of session::pull(); invalid_argument (`out` of another size), over_limit (as
  // push), out_of_order (the pull before is under way, or the table was pushed in this clock).
  pending pull(std::span<const std::uint64_t> ids, std::span<float> out) const;
  // Asks for rows ahead of the pull that needs them, so that they travel while the program
  // computes: a later pull of the same ids is sent what of them has changed since, under every
  // policy. It comes before the push of its clock; the push, the clock and what follows do not
  // wait for it, the next pull of the table does. Nothing has to wait for the pending, and a
  // prefetch that fails costs nothing but its use. Rows that are read in place, on the host of
  // their shard, are not asked for. Takes memory for the rows of one prefetch. `ids` may go
  // when the call returns. Errors: those of pull(); out_of_order (the prefetch before is under
  // way).
  pending prefetch(std::span<const std::uint64_t> ids) const;
  // As pull(), of everything: see session::pull_final().
  pending pull_final(std::span<const std::uint64_t> ids, std::span<float> out) const;
  // Calls `visit(id, values)` for each row that the table has, as a pull of this clock finds
  // it, ascending by id. Blocks; takes a page of memory for each part. `visit` does not call
  // the session. Errors: those of session::pull().
  using row_visitor = std::function<void(std::uint64_t id, std::span<const float> values)>;
  status for_each(const row_visitor& visit) const;
  // Has shards compute a function of all rows that the table has, as session::call() of a dense
  // table does: as a pull of this clock finds them. Each part is shown its rows ascending by
  // id, and the results of parts are combined in their order: they do not depend on how many
  // shards there are, and the last bits of sums on the table's number of parts alone. Rows that
  // nobody has pushed are not there; of none, a sum is 0 and a minimum infinite. A shard copies
  // the rows of 16 parts at most at a time for it. Errors: those of session::call();
  // out_of_order (as pull).
  expected<std::vector<double>> call(std::string_view function,
                                     std::span<const double> arguments = {}) const;

 private:
  actors::row_calls* home_;
  std::uint32_t id_;
  std::uint32_t dim_;
};

}  // namespace tidegate
