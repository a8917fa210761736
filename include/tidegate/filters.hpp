// Filters of rows, which a worker puts between what it computes and what it pushes or pulls, so
// that less travels: the user-defined filters of Li et al., "Scaling Distributed Machine
// Learning with the Parameter Server" (OSDI 2014, sections 3.7 and 5.1).
//
//   auto filter = kkt_filter::create({.dim = 1, .l1 = 0.001F});
//   t->pull(ids, values).wait();
//   compute(ids, values, gradients);
//   auto kept = filter->rows(ids, values, gradients);
//   t->push(kept->ids, kept->gradients).wait();
//
// What a filter lets through follows from the arguments of its calls and its options alone. A
// worker that may die keeps what save() returns (worker_state::keep) in each clock in which it
// calls the filter, and the process in its place gives it to restore(): it then goes on with
// the same bits. A filter knows no session, so it does for any table.
//
// Thread rule: a filter belongs to one thread at a time. Ownership: arguments are read during
// the call; what a call returns lies in the filter and is valid until its next call that is not
// const. Once its memory has grown to what calls need, a filter takes no more; save() does.
// Errors are values, and a call that fails changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tidegate/status.hpp>
#include <tidegate/table.hpp>

namespace tidegate {

namespace runtime::filters {
class held_rows;
}

// Rows that a filter lets through: of ids[i], gradients [i * dim, (i + 1) * dim).
struct kept_rows {
  std::span<const std::uint64_t> ids;
  std::span<const float> gradients;
};

// The same of ranges of a dense table, ascending; their gradients lie one after the other, as
// session::push(table, ranges, values) takes them.
struct kept_ranges {
  std::span<const element_range> ranges;
  std::span<const float> gradients;
};

struct kkt_options {
  std::uint32_t dim = 1;  // values of a row, 1 to 4096; not looked at by ranges()
  // Those of the table's optimizer, finite and 0 or more: the problem is the mean loss plus
  // l1 |w| + l2/2 w^2.
  float l1 = 0;
  float l2 = 0;
  // How far within its bound a gradient must be to be dropped, finite and 0 or more: as itself,
  // and as a share of the largest violation of the pass before, by which Yuan et al. (JMLR
  // 2010) shrink such problems. With a share nothing is dropped before the first end_pass().
  float slack = 0;
  float slack_share = 0;
  // ranges() keeps what it would drop between two kept elements that are no further apart than
  // this: ranges are fewer then, at no cost where chunks travel whole.
  std::uint64_t gap = 0;
};

// Drops what an L1-regularized problem leaves at 0: elements that satisfy its
// Karush-Kuhn-Tucker conditions, w == 0 and |g| <= l1 - slack - slack_share * violation. For
// g of the whole objective the proximal step would leave such an element at 0, so nothing is
// lost. A worker has the gradient of its own samples, which estimates that of all: it may drop
// what others push, and counts there as a gradient of 0 (Li et al., section 5.1). A slack makes
// that rarer. A NaN is never dropped.
class kkt_filter {
 public:
  // Errors: invalid_argument (an option outside its bounds).
  static expected<kkt_filter> create(const kkt_options& options);

  // Drops rows of which all elements satisfy the conditions; the others keep their order, and
  // are copied whole. `values` are as pulled, and `gradients` those of the loss alone; both
  // have dim values for each id. Errors: invalid_argument (sizes).
  expected<kept_rows> rows(std::span<const std::uint64_t> ids, std::span<const float> values,
                           std::span<const float> gradients);
  // Drops single elements of ranges of a dense table, and cuts the ranges to what is left.
  // `values` and `gradients` have the elements of all ranges, one after the other. Errors:
  // invalid_argument (ranges that are empty, overlap or do not ascend; sizes).
  expected<kept_ranges> ranges(std::span<const element_range> ranges,
                               std::span<const float> values, std::span<const float> gradients);

  // Ends a pass over the problem: the largest violation that calls have seen since the pass
  // before is what slack_share is of from now on.
  void end_pass() noexcept;

  // Bound of |g| in the calls to come; below 0: nothing is dropped.
  float threshold() const noexcept;
  // How far elements were from satisfying the conditions at most, since the last end_pass():
  // max(|g| - l1, 0) where w is 0, |g + l2 w + sign(w) l1| elsewhere. NaN does not count.
  float violation() const noexcept { return violation_; }
  // Rows, or elements of ranges, in all calls: how many came, and how many were kept.
  std::uint64_t seen() const noexcept { return seen_; }
  std::uint64_t kept() const noexcept { return kept_; }

  // The state as bytes, and a filter's state from them. Errors of restore(): invalid_argument
  // (not of a filter of this kind).
  std::vector<std::byte> save() const;
  status restore(std::span<const std::byte> bytes);

 private:
  explicit kkt_filter(const kkt_options& options) noexcept : options_(options) {}

  kkt_options options_;
  float before_ = 0;  // the largest violation of the pass before
  float violation_ = 0;
  std::uint64_t seen_ = 0, kept_ = 0;
  std::vector<std::uint64_t> ids_;
  std::vector<element_range> ranges_;
  std::vector<float> gradients_;
};

struct significant_options {
  std::uint32_t dim = 1;  // values of a row, 1 to 4096
  // A row is let through when the largest magnitude of its sum is above threshold + relative *
  // the largest magnitude of its values. Finite, 0 or more.
  float threshold = 0;
  float relative = 0;
  // Rows held at most, 1 to 2^28: a row that finds no room is let through.
  std::uint64_t rows_max = 1ULL << 20;
};

// Holds gradients back that change little: adds up those of each row, and lets the sum through
// when it is large enough (Li et al., section 3.7). Nothing is lost but time: under an
// optimizer that is linear in the gradient, as sgd, a late sum moves a row as far as its parts
// would have.
class significant_filter {
 public:
  // Errors: invalid_argument (an option outside its bounds).
  static expected<significant_filter> create(const significant_options& options);
  significant_filter(significant_filter&&) noexcept;
  significant_filter& operator=(significant_filter&&) noexcept;
  ~significant_filter();

  // Adds gradients to what is held, those of an id that comes more than once in their order,
  // and returns rows of these ids whose sums are large enough, by their first place in `ids`.
  // `values`: dim values of each id as pulled, of which that first place counts; none where
  // relative is 0. A sum with a NaN is let through. Errors: invalid_argument (sizes).
  expected<kept_rows> add(std::span<const std::uint64_t> ids, std::span<const float> gradients,
                          std::span<const float> values = {});
  // Returns all that is held, ascending by id, and holds nothing then.
  kept_rows flush();

  std::uint64_t held() const noexcept;  // rows
  // Rows in all calls: how many came, an id that comes twice in a call once; how many went.
  std::uint64_t seen() const noexcept { return seen_; }
  std::uint64_t kept() const noexcept { return kept_; }

  // As of kkt_filter: 8 + 4 dim bytes for each row held. The bytes follow from what is held,
  // whatever the way there. Errors of restore(): invalid_argument (not of a filter of this kind
  // and dim, more than rows_max).
  std::vector<std::byte> save() const;
  status restore(std::span<const std::byte> bytes);

 private:
  explicit significant_filter(const significant_options& options);

  significant_options options_;
  std::unique_ptr<runtime::filters::held_rows> rows_;
  std::vector<std::uint32_t> places_;  // of the rows of a call in rows_
  std::vector<std::uint32_t> firsts_;  // where a row of a call comes first
  std::vector<std::uint64_t> ids_;
  std::vector<float> gradients_;
  std::uint64_t seen_ = 0, kept_ = 0;
};

struct pull_options {
  std::uint32_t dim = 1;  // values of a row, 1 to 4096
  // A pull finds a row as it was where no value has moved by more than this since the pull
  // before. Finite, 0 or more.
  float epsilon = 0;
  // What every row has before it is pushed, as init_constant of its table, not a NaN: the first
  // pull of a row is compared with it. None: a first pull finds nothing as it was.
  std::optional<float> initial = std::nullopt;
  // For how many clocks a row that was found as it was is not pulled again, 1 to 2^32.
  std::uint64_t rest = 1;
  std::uint64_t rows_max = 1ULL << 22;  // rows kept at most, 1 to 2^28
};

// Leaves rows out of pulls that have not changed of late. It keeps the last values of each row
// that was pulled; a row that a pull finds as it was rests for so many clocks, unless this
// worker pushes it. So what others have done to a row is seen up to `rest` clocks later than
// the policy says, and what this worker has pushed as the policy says. With `rest` no longer
// than some blocks take it is the filter on pulls of block methods: most rows are 0 and stay.
//
//   auto wanted = filter->wanted(job->now(), ids);
//   t->pull(*wanted, pulled).wait();
//   filter->store(pulled);
//   filter->gather(ids, values);
class pull_filter {
 public:
  // Errors: invalid_argument (an option outside its bounds).
  static expected<pull_filter> create(const pull_options& options);
  pull_filter(pull_filter&&) noexcept;
  pull_filter& operator=(pull_filter&&) noexcept;
  ~pull_filter();

  // Returns those of these ids that have to be pulled at this clock, each once, in the order in
  // which they come; may be none. A call whose values were not stored counts for nothing then.
  // Errors: over_limit (more than rows_max rows).
  expected<std::span<const std::uint64_t>> wanted(std::uint64_t clock,
                                                  std::span<const std::uint64_t> ids);
  // Takes in the values that a pull of the ids of the last wanted() has found, dim of each.
  // Errors: invalid_argument (size), out_of_order (no such pull is due).
  status store(std::span<const float> values);
  // Writes the last values of these ids. Errors: invalid_argument (size), not_found (an id that
  // was never pulled).
  status gather(std::span<const std::uint64_t> ids, std::span<float> out) const;
  // Ends the rest of rows that this worker pushes; ids that were never pulled are left alone.
  void pushed(std::span<const std::uint64_t> ids) noexcept;

  std::uint64_t held() const noexcept;  // rows
  // Ids of all calls of wanted(), each once in a call: how many came, and how many it returned.
  std::uint64_t seen() const noexcept { return seen_; }
  std::uint64_t kept() const noexcept { return kept_; }

  // As of kkt_filter, between store() and the next wanted(): 17 bytes for each row kept, and 4
  // dim more where it has a value that is not 0. What is asked for and not stored is not saved.
  std::vector<std::byte> save() const;
  status restore(std::span<const std::byte> bytes);

 private:
  explicit pull_filter(const pull_options& options);
  void drop_unpulled() noexcept;

  pull_options options_;
  std::unique_ptr<runtime::filters::held_rows> rows_;
  std::vector<std::uint64_t> due_;  // clock from which on a row is pulled again, by place
  std::vector<std::uint64_t> asked_;
  std::uint64_t clock_ = 0;  // of asked_
  bool is_asked_ = false;
  std::uint64_t seen_ = 0, kept_ = 0;
};

}  // namespace tidegate
