#include "launch/run/metrics_of_shards.hpp"

#include <string>
#include <utility>

namespace tidegate::launch {

namespace {

template <class Add>
void for_shards(const run_view& run, const Add& add) {
  for (std::size_t shard = 0; shard < run.shards.size(); ++shard)
    if (run.shards[shard].elapsed_ns > 0) add(std::to_string(shard), run.shards[shard]);
}

void add_shards(const run_view& run, metric_sink& to) {
  for_shards(run, [&](const std::string& shard, const policies::shard_times& of) {
    for (const auto& [activity, lasted] :
         {std::pair("busy", of.busy_ns), std::pair("replica", of.replica_ns),
          std::pair("stopped", of.pressure.stopped_ns),
          std::pair("starved", of.pressure.starved_ns)})
      to.sample({{"shard", shard}, {"activity", activity}}, number(lasted) * seconds_of_ns);
  });
}

void add_shard_bytes(const run_view& run, metric_sink& to) {
  for_shards(run, [&](const std::string& shard, const policies::shard_times& of) {
    to.sample({{"shard", shard}, {"direction", "in"}}, number(of.bytes_in));
    to.sample({{"shard", shard}, {"direction", "out"}}, number(of.bytes_out));
  });
}

void add_replicas(const run_view& run, metric_sink& to) {
  for (const auto& replica : run.replicas)
    for (const auto& [activity, lasted] :
         {std::pair("busy", replica.times.busy_ns),
          std::pair("stopped", replica.times.pressure.stopped_ns),
          std::pair("starved", replica.times.pressure.starved_ns)})
      to.sample({{"shard", std::to_string(replica.shard)},
                 {"process", replica.name.to_string()},
                 {"activity", activity}},
                number(lasted) * seconds_of_ns);
}

metric_samples of_replicas(std::uint64_t policies::shard_times::*value) {
  return [value](const run_view& run, metric_sink& to) {
    for (const auto& replica : run.replicas)
      to.sample(
          {{"shard", std::to_string(replica.shard)}, {"process", replica.name.to_string()}},
          number(replica.times.*value));
  };
}

metric_samples of_shards(std::uint64_t policies::shard_times::*value) {
  return [value](const run_view& run, metric_sink& to) {
    for_shards(run, [&](const std::string& shard, const policies::shard_times& of) {
      to.sample({{"shard", shard}}, number(of.*value));
    });
  };
}

metric_samples of_answers(double (*value)(const policies::rank_arrivals&)) {
  return of_jobs([value](const run_view::job& job, metric_sink& to) {
    const auto& answers = job.status.answers;
    for (std::size_t shard = 0; shard < answers.size(); ++shard)
      to.sample({{"job", job.status.name}, {"shard", std::to_string(shard)}},
                value(answers[shard]));
  });
}

}  // namespace

std::vector<metric_family> metrics_of_shards() {
  using enum metric_kind;
  using policies::rank_arrivals;
  return {
      {"tidegate_shard_seconds", counter, "shard, activity",
       "For how long the shard's process was busy with frames of workers and of its chain, and "
       "with steps, had steps that waited for its replica, was stopped, and was ready without "
       "a "
       "processor",
       add_shards},
      {"tidegate_shard_bytes", counter, "shard, direction",
       "Bytes of gradients that the shard has taken or read in place, and of parameters that "
       "it "
       "has sent",
       add_shard_bytes},
      {"tidegate_shard_resident_bytes", gauge, "shard",
       "How much of the shard's process is in memory, what it shares with workers among it",
       of_shards(&policies::shard_times::resident_bytes)},
      {"tidegate_shard_pushes_held", gauge, "shard", "Pushes that wait for a step there",
       of_shards(&policies::shard_times::pushes_held)},
      {"tidegate_replica_seconds", counter, "shard, process, activity",
       "For how long a process that follows in the shard's chain was busy with its steps, was "
       "stopped, and was ready without a processor",
       add_replicas},
      {"tidegate_replica_bytes", counter, "shard, process",
       "Bytes of steps that it has taken or read in place",
       of_replicas(&policies::shard_times::bytes_in)},
      {"tidegate_replica_resident_bytes", gauge, "shard, process",
       "How much of it is in memory", of_replicas(&policies::shard_times::resident_bytes)},
      {"tidegate_answers", counter, "job, shard",
       "Clocks of workers in which the shard has answered; nothing of one shard alone",
       of_answers([](const rank_arrivals& of) { return number(of.clocks); })},
      {"tidegate_last_answers", counter, "job, shard",
       "Of these, those in which its answer came last",
       of_answers([](const rank_arrivals& of) { return number(of.last); })},
      {"tidegate_late_answers_seconds", counter, "job, shard",
       "By how much it came after the last but one then, in sum over these",
       of_answers([](const rank_arrivals& of) { return number(of.late_ns) * seconds_of_ns; })}};
}

}  // namespace tidegate::launch
