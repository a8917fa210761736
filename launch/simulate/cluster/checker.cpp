#include "launch/simulate/cluster/checker.hpp"

#include <algorithm>
#include <array>

#include "launch/simulate/cluster/row_ids.hpp"
#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/gaps.hpp"

namespace tidegate::sim {

namespace kernels = runtime::kernels;

namespace {

std::string text(const update& pushed) {
  return "rank " + std::to_string(pushed.rank) + " clock " + std::to_string(pushed.clock);
}

std::string place(std::uint32_t table, std::uint32_t chunk) {
  return "table " + std::to_string(table) + " chunk " + std::to_string(chunk) + ": ";
}

}  // namespace

void checker::begin_epoch(std::uint32_t epoch) {
  epoch_ = epoch;
  membership_.begin_epoch();
  journal_.begin_epoch();
  names_.clear();
  early_seeds_.clear();
  squares_.clear();
}

chunk_history* checker::find(std::uint64_t job, std::uint32_t table, std::uint32_t chunk) {
  const auto name = names_.find({job, table});
  if (name == names_.end()) return nullptr;
  const auto at = chunks_.find({job, name->second, chunk});
  return at == chunks_.end() ? nullptr : &at->second;
}

chunk_history* checker::find(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                             process_id id) {
  const auto name = names_.find({job, table});
  if (name == names_.end()) return nullptr;
  const auto fork = forks_.find({id, {job, name->second, chunk}});
  return fork == forks_.end() ? find(job, table, chunk) : &fork->second;
}

void checker::open_chunk(std::uint64_t job, std::uint32_t table, const std::string& name,
                         std::uint32_t chunk, const policies::optimizer_spec& optimizer,
                         std::span<const float> first_values, std::optional<row_model> rows) {
  names_[{job, table}] = name;
  const auto [entry, fresh] = chunks_.try_emplace({job, name, chunk});
  auto& state = entry->second;
  state.opened_in = epoch_;
  check_early_seeds(job, table, chunk, first_values);
  if (!fresh) {
    if (digest_of(first_values) != state.versions.front().digest)
      fail("same bits", place(table, chunk) + "begins anew with other values");
    state.roll_back(0);
    return state.forget_ranks_from(jobs_.at(job).spec.workers);
  }
  state.optimizer = optimizer;
  state.rows = std::move(rows);
  state.parameters.assign(first_values.begin(), first_values.end());
  state.state1.resize(first_values.size());
  state.state2.resize(first_values.size());
  state.note_version();
}

void checker::pushed(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                     const update& pushed, std::span<const float> gradient) {
  auto* at = find(job, table, chunk);
  if (!at) return fail("exactly once", place(table, chunk) + "pushed before it was opened");
  auto& all = at->written[pushed];
  // What a worker computes depends on what it has read, rank and clock. Where one has left, its
  // last push may have died with a primary that others have read. Where some have joined,
  // everything may go back to before, and they join elsewhere: what comes after differs.
  const auto& spec = jobs_.at(job).spec;
  const auto join = membership_.first_join(spec.name);
  const auto from = join && pushed.clock > *join ? epoch_incarnation_of(epoch_, 0) : 0;
  if (spec.consistency.kind == policies::consistency_kind::bsp &&
      !membership_.anybody_left(spec.name))
    for (const auto& [incarnation, earlier] : all)
      if (incarnation >= from && digest_of(earlier) != digest_of(gradient))
        fail("same bits", place(table, chunk) + text(pushed) +
                              " came back and computed something else than before");
  all[pushed.incarnation].assign(gradient.begin(), gradient.end());
}

void checker::applied(std::uint64_t job, std::uint32_t table, std::uint32_t chunk, updates with,
                      std::span<const float> parameters, process_id id,
                      const step_terms& terms) {
  auto* at = find(job, table, chunk, id);
  if (!at) return fail("exactly once", place(table, chunk) + "applied before it was opened");
  auto& known = *find(job, table, chunk);
  std::sort(with.begin(), with.end());
  std::vector<kernels::gradient> inputs;
  for (const auto& update : with) {
    if (!at->at.emplace(update, at->at.size()).second)
      return fail("exactly once", place(table, chunk) + text(update) + " is applied twice");
    const auto written = known.written.find(update);
    if (written == known.written.end() || !written->second.contains(update.incarnation))
      return fail("exactly once", place(table, chunk) + text(update) + " was never pushed");
    inputs.push_back({written->second.at(update.incarnation).data(), update.rank});
  }
  std::vector<std::vector<float>> admitted;
  if (at->rows) {
    for (const auto& input : inputs) {
      const auto* const values = static_cast<const float*>(input.data);
      admitted.emplace_back(values, values + at->parameters.size());
    }
    at->rows->begin_step(with.front().clock, admitted,
                         {at->parameters, at->state1, at->state2});
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].data = admitted[i].data();
  }
  kernels::chunk_arrays arrays;
  arrays.before = arrays.after = at->parameters.data();
  arrays.state1 = at->state1.data();
  arrays.state2 = at->state2.data();
  arrays.n = at->parameters.size();
  const auto& spec = jobs_.at(job).spec;
  const auto contributors = terms.contributors == 0 ? spec.workers : terms.contributors;
  membership_.check_contributors(spec, with, contributors);
  if (spec.clip_norm > 0) check_norm(job, with.front().clock, contributors, terms.squares);
  at->powers = runtime::powers_before(at->optimizer, at->powers, with.front().clock);
  kernels::apply_update(
      runtime::options_at(at->optimizer, with.front().clock, rate_of(spec.seed, with.front())),
      at->powers, inputs,
      policies::scale_of(at->optimizer, spec.reduce, contributors) *
          policies::norm_factor(policies::clip_norm_of(spec.clip_norm, at->optimizer.kind),
                                terms.squares),
      arrays);
  if (at->rows) at->rows->end_step({at->parameters, at->state1, at->state2});
  at->note_version();
  if (at != &known) known.ghosts.push_back(at->ghost_of(at->versions.back()));
  if (digest_of(parameters) != at->versions.back().digest)
    fail("same bits", place(table, chunk) + "a step with " + text(with.front()) + " and " +
                          std::to_string(with.size() - 1) +
                          " more made other parameters than what was pushed makes");
}

namespace {

// The squares of what these ranks push of a part, row by row.
double squares_of_rows(std::span<const kernels::gradient> inputs, float scale,
                       const runtime::optimizer_options& optimizer) {
  kernels::squares sums{};
  std::array<float, row_dim> row{};
  for (std::size_t first = 0; first < floats_per_part; first += row_dim) {
    std::vector<kernels::gradient> of_row;
    for (const auto& input : inputs)
      of_row.push_back({static_cast<const float*>(input.data) + first, input.rank});
    if (of_row.empty()) continue;
    kernels::tree_reduce(of_row, row.data(), row_dim, kernels::combination_of(optimizer));
    for (auto& value : row)
      if (kernels::is_gap(value)) value = 0;
    kernels::add_squares(row.data(), scale, row_dim, sums);
  }
  return kernels::total_of(sums);
}

}  // namespace

// Where ranks come and go, some have pushed what is in no step; then all steps take the same,
// unless a push of one that has left died with a primary.
void checker::check_norm(std::uint64_t job, std::uint64_t clock, std::uint32_t contributors,
                         double squares) {
  const auto& spec = jobs_.at(job).spec;
  const bool stay = !membership_.anybody_left(spec.name) && spec.capacity() == spec.workers;
  const auto [at, fresh] = squares_.try_emplace({job, clock}, squares);
  if (fresh && stay) at->second = squares_of(job, clock, contributors);
  if (squares != at->second && (stay || !anybody_promoted_))
    fail("same bits", "clock " + std::to_string(clock) +
                          ": a step takes the gradient for one of " + std::to_string(squares) +
                          " in squares, which has " + std::to_string(at->second));
}

// In the order of tables and chunks, of what was written by now, which is all of the clock.
double checker::squares_of(std::uint64_t job, std::uint64_t clock,
                           std::uint32_t contributors) const {
  double sum = 0;
  for (const auto& [id, name] : names_) {
    if (id.first != job) continue;
    for (auto at = chunks_.lower_bound({job, name, 0});
         at != chunks_.end() && std::get<0>(at->first) == job && std::get<1>(at->first) == name;
         ++at) {
      if (policies::clip_norm_of(1.0F, at->second.optimizer.kind) == 0) continue;
      std::vector<kernels::gradient> inputs;
      for (const auto& [pushed, all] : at->second.written)
        if (pushed.clock == clock) inputs.push_back({all.rbegin()->second.data(), pushed.rank});
      const auto scale =
          policies::scale_of(at->second.optimizer, jobs_.at(job).spec.reduce, contributors);
      sum += at->second.rows
                 ? squares_of_rows(inputs, scale, at->second.optimizer)
                 : kernels::squares_of_sum(inputs, scale, at->second.parameters.size(),
                                           kernels::gaps_of(at->second.optimizer));
    }
  }
  return sum;
}

// Pushed by a rank that has left, to nobody who would know.
bool checker::is_forgiven(const std::string& job, const chunk_history& chunk,
                          const update& pushed) const {
  return membership_.has_left(job, pushed.rank) && !chunk.at.contains(pushed) &&
         !chunk.acknowledged.contains(pushed);
}

// Whether a version has what a pull must find.
bool checker::holds(const policies::job_spec& job, const chunk_history& chunk,
                    const chunk_history::contains& has, const reading& options,
                    std::string* missing) const {
  using policies::consistency_kind;
  const auto& policy = job.consistency;
  const bool bsp = policy.kind == consistency_kind::bsp;
  const std::uint64_t slack = bsp || options.is_final ? 0 : policy.staleness;
  for (const auto& [update, gradient] : chunk.written) {
    const bool own = update.rank == options.rank && update.clock < options.clock;
    const bool others = update.clock + slack < options.clock;
    const bool due =
        policy.kind == consistency_kind::async && !options.is_final ? false : own || others;
    if (due && !has(update) && !is_forgiven(job.name, chunk, update)) {
      *missing = text(update) + " is missing";
      return false;
    }
    if (bsp && update.clock >= options.clock && has(update)) {
      *missing = text(update) + " is in already";
      return false;
    }
  }
  return true;
}

void checker::pulled(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                     const reading& options, std::span<const float> values) {
  auto* at = find(job, table, chunk);
  if (!at) return fail("consistency", place(table, chunk) + "pulled before it was opened");
  const auto digest = digest_of(values);
  bool known = false;
  std::string missing;
  auto& newest = at->newest_read[{options.rank, options.incarnation}];
  for (auto number = at->versions.size(); number-- > 0;) {
    const auto& seen = at->versions[number];
    if (seen.digest != digest) continue;
    known = true;
    if (number < newest)
      missing = "older than what this rank has read before";
    else if (holds(jobs_.at(job).spec, *at, at->updates_in(seen), options, &missing)) {
      newest = number;
      return;
    }
  }
  for (const auto& [ghost, with] : at->ghosts) {
    const auto has = [&, had = &with](const update& pushed) { return had->contains(pushed); };
    if (ghost.digest != digest) continue;
    known = true;
    if (holds(jobs_.at(job).spec, *at, has, options, &missing)) return;
  }
  const auto name = place(table, chunk) + "rank " + std::to_string(options.rank) +
                    " at clock " + std::to_string(options.clock);
  if (!known) return fail("never torn", name + " reads what never was a version");
  fail("consistency", name + ": " + missing);
}

namespace {

// In the order in which a function is shown them.
double sum_of_rows(const chunk_history::version& of) {
  const auto uses = of.rows->uses();
  double sum = 0;
  for (std::uint32_t row = 0; row < rows_per_part; ++row)
    for (std::uint32_t i = 0; uses.rows[row].exists && i < row_dim; ++i)
      sum += of.parameters[row * row_dim + i];
  return sum;
}

}  // namespace

bool checker::has_died(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                       std::span<const float> values) {
  auto* at = find(job, table, chunk);
  if (at == nullptr) return false;
  const auto is_it = [digest = digest_of(values)](const chunk_history::version& version) {
    return version.digest == digest;
  };
  return std::none_of(at->versions.begin(), at->versions.end(), is_it) &&
         std::any_of(at->ghosts.begin(), at->ghosts.end(),
                     [&](const auto& ghost) { return is_it(ghost.first); });
}

void checker::called(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                     const called_sum& result) {
  auto* at = find(job, table, chunk);
  if (!at) return fail("consistency", place(table, chunk) + "called before it was opened");
  const auto digest = digest_of(result.values);
  const auto is_of = [&](const chunk_history::version& seen) {
    return (!result.is_exact || seen.digest == digest) && sum_of_rows(seen) == result.sum;
  };
  if (std::any_of(at->versions.begin(), at->versions.end(), is_of)) return;
  for (const auto& [ghost, with] : at->ghosts)
    if (is_of(ghost)) return;
  fail(result.is_exact ? "fresh" : "never torn",
       place(table, chunk) + "a function's sum of its rows is of no version" +
           (result.is_exact ? " that was read" : ""));
}

void checker::answered(std::uint64_t job, std::uint32_t table, std::uint32_t chunk,
                       const reading& options, std::span<const float> values,
                       process_id who_says, bool is_late) {
  auto* at = find(job, table, chunk, who_says);
  if (!at) return fail("consistency", place(table, chunk) + "answered before it was opened");
  const auto name = place(table, chunk) + "rank " + std::to_string(options.rank) +
                    " at clock " + std::to_string(options.clock) + " is answered ";
  const auto& policy = jobs_.at(job).spec.consistency;
  const auto digest = digest_of(values);
  auto newest = at->versions.rbegin();
  while (is_late && newest->digest != digest && newest + 1 != at->versions.rend()) ++newest;
  // One that has come back may repeat clocks that this chunk has already.
  // So may an aggregator for one that has left.
  const bool repeats = (options.incarnation > 1 || jobs_.at(job).asks_ahead ||
                        membership_.anybody_left(jobs_.at(job).spec.name)) &&
                       policy.kind == policies::consistency_kind::bsp;
  auto left = repeats ? jobs_.at(job).versions_behind : 0;
  bool is_known = false;
  std::string missing;
  // Versions may be alike: what was pushed of rows that are not admitted changes nothing.
  for (auto found = newest; found != at->versions.rend(); ++found) {
    is_known |= digest == found->digest;
    if (digest == found->digest &&
        holds(jobs_.at(job).spec, *at, at->updates_in(*found), options, &missing))
      return;
    if (left-- == 0) break;
  }
  if (!is_known) return fail("fresh", name + "with other parameters than the newest");
  fail("consistency", name + "though " + missing);
}

void checker::accepted(process_id id, std::uint64_t job, std::uint64_t epoch,
                       std::uint32_t shard) {
  auto& newest = epochs_[{id, job, shard}];
  if (epoch < newest)
    fail("epochs rise", "process " + std::to_string(id) + " takes a frame of epoch " +
                            std::to_string(epoch) + " after one of " + std::to_string(newest));
  newest = std::max(newest, epoch);
}

void checker::served(process_id id, std::uint64_t job, std::uint64_t epoch, std::uint32_t table,
                     std::uint32_t chunk) {
  auto* at = find(job, table, chunk);
  if (!at) return fail("one server", place(table, chunk) + "served before it was opened");
  if (find(job, table, chunk, id) != at) return;  // nobody has told it that it is out
  const auto text = place(table, chunk) + "process " + std::to_string(id) +
                    " answers in epoch " + std::to_string(epoch) + ", ";
  if (epoch < at->epoch)
    return fail("epochs rise", text + "which is over since " + std::to_string(at->epoch));
  if (epoch == at->epoch && at->server != 0 && id != at->server)
    return fail("one server", text + "and so does process " + std::to_string(at->server));
  at->epoch = epoch;
  at->server = id;
}

void checker::all_done(const std::function<bool(const std::string& job)>& was_cancelled) {
  for (auto& [where, chunk] : chunks_) {
    if (was_cancelled && was_cancelled(jobs_.at(std::get<0>(where)).spec.name)) continue;
    for (const auto& [update, gradient] : chunk.written)
      if (!chunk.at.contains(update) &&
          !is_forgiven(jobs_.at(std::get<0>(where)).spec.name, chunk, update))
        fail("exactly once", "table " + std::get<1>(where) + " chunk " +
                                 std::to_string(std::get<2>(where)) + ": " + text(update) +
                                 " was pushed and never applied, and the job is done");
  }
}

}  // namespace tidegate::sim
