#include "policies/coordinator/record.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "policies/checkpoint/json_text.hpp"
#include "policies/checkpoint/optimizer_record.hpp"
#include "policies/checkpoint/record_fields.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

using nlohmann::json;
using runtime::errc;
using runtime::fail;
using runtime::journal_entry;
using runtime::status;
namespace limits = runtime::limits;

namespace {

constexpr int record_depth_max = 8;
constexpr std::size_t dimensions_max = 8;
constexpr std::size_t members_max = limits::shards_max * group_size_max;
constexpr std::size_t failure_bytes_max = 16 * 1024;  // the rest is not kept

// Doubles and floats as their bits: a loss may be NaN, and 0.1 must come back as it was.
std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

std::vector<std::uint64_t> decode_shape(json_fields& fields, status& problem) {
  const auto& found = fields.array("shape");
  return row(fields, "shape", std::min(found.size(), dimensions_max), any_64, problem);
}

checkpoint_id decode_id(json_fields& fields, const char* key, status& problem) {
  const auto values = row(fields, key, 2, any_64, problem);
  if (values[0] > any_32 && problem.ok()) problem = {errc::corrupt, "no such epoch"};
  return {static_cast<std::uint32_t>(values[0]), values[1]};
}

json encode(const restored_job& job, const std::string& name) {
  json tables = json::array();
  for (const auto& table : job.tables)
    tables.push_back({{"name", wide(table.name)},
                      {"shape", table.shape},
                      {"optimizer", encode_optimizer(table.optimizer)},
                      {"rows", encode_rows(table.rows)}});
  return {{"job", wide(name)},
          {"id", {job.id.epoch, job.id.number}},
          {"clock", job.clock},
          {"tables", std::move(tables)}};
}

json encode(const std::vector<membership_change>& changes) {
  json all = json::array();
  for (const auto& change : changes)
    all.push_back({{"number", change.number},
                   {"rank", change.rank},
                   {"clock", change.clock},
                   {"joins", change.joins ? 1U : 0U},
                   {"here", change.pushes_here ? 1U : 0U}});
  return all;
}

struct encoder {
  journal_entry operator()(const recorded_run& run) const {
    json jobs = json::array();
    for (const auto& [name, job] : run.from.jobs) jobs.push_back(encode(job, name));
    return entry("run", {{"epoch", run.from.epoch}, {"jobs", std::move(jobs)}});
  }
  journal_entry operator()(const recorded_job& job) const {
    return entry("job/" + job.name,
                 {{"job", wide(job.name)},
                  {"state", static_cast<std::uint32_t>(job.state)},
                  {"failure", wide(job.failure.substr(0, failure_bytes_max))},
                  {"began", static_cast<std::uint64_t>(job.began)},
                  {"ended", static_cast<std::uint64_t>(job.ended)},
                  {"sha256", wide(job.parameters_sha256)},
                  {"restarts", job.restarts},
                  {"checkpoints", job.checkpoints},
                  {"checkpoint_clock", job.checkpoint_clock},
                  {"begun", {job.begun.epoch, job.begun.number}},
                  {"wanted", job.wanted},
                  {"changes", encode(job.changes)}});
  }
  journal_entry operator()(const recorded_worker& worker) const {
    const auto& last = worker.last;
    json value = {{"job", wide(worker.job)},
                  {"rank", worker.rank},
                  {"joined", worker.joined ? 1U : 0U},
                  {"finished", worker.finished ? 1U : 0U},
                  {"incarnation", worker.incarnation},
                  {"address", wide(worker.address)},
                  {"invited", worker.invited ? 1U : 0U},
                  {"told", worker.tables ? 1U : 0U},
                  {"tables", worker.tables.value_or(std::vector<std::uint32_t>())},
                  {"earlier", {worker.staleness_max, worker.payload_bytes_copied}},
                  {"last",
                   {last.clock, last.clocks_total, bits(last.epoch), bits(last.loss),
                    last.samples, last.staleness_max, last.payload_bytes_copied}}};
    return entry("worker/" + worker.job + "/" + std::to_string(worker.rank), value);
  }
  journal_entry operator()(const recorded_group& group) const {
    const auto& is = group.state;
    std::vector<std::uint32_t> chain;
    for (const auto& place : is.chain) chain.insert(chain.end(), {place.member, place.view});
    std::vector<std::uint32_t> leaving;
    for (const auto& member : is.leaving)
      leaving.insert(leaving.end(), {member.number, member.incarnation});
    return entry("group/" + std::to_string(group.shard), {{"shard", group.shard},
                                                          {"incarnations", is.incarnations},
                                                          {"chain", chain},
                                                          {"leaving", leaving},
                                                          {"view", is.view},
                                                          {"serving", is.serving_view},
                                                          {"in_sync", is.in_sync ? 1U : 0U}});
  }
  journal_entry operator()(const recorded_slots& slots) const {
    std::vector<std::uint32_t> processes;
    for (const auto& process : slots.processes)
      processes.insert(processes.end(),
                       {process.id.slot, process.id.place, process.incarnation});
    return entry(
        "slots",
        {{"wanted", slots.wanted}, {"slot_of", slots.slot_of}, {"processes", processes}});
  }
  journal_entry operator()(const recorded_tables& tables) const {
    json specs = json::array();
    for (const auto& spec : tables.specs)
      specs.push_back(
          {{"name", wide(spec.name)},
           {"shape", spec.shape},
           {"optimizer", encode_optimizer(spec.optimizer)},
           {"rows", encode_rows(spec.rows)},
           {"init", {static_cast<std::uint32_t>(spec.init.kind), bits(spec.init.value)}}});
    char number[16];
    std::snprintf(number, sizeof number, "%08u", tables.number);  // ascending as texts, too
    return entry(
        "tables/" + std::string(number),
        {{"number", tables.number}, {"job", wide(tables.job)}, {"specs", std::move(specs)}});
  }
  journal_entry operator()(const recorded_metric& metric) const {
    return entry("metric/" + metric.job + "/" + metric.name, {{"job", wide(metric.job)},
                                                              {"name", wide(metric.name)},
                                                              {"value", bits(metric.value)}});
  }
};

recorded_run decode_run(json_fields& fields, status& problem) {
  recorded_run run;
  run.from.epoch = number32(fields, "epoch");
  for (const auto& entry : fields.array("jobs")) {
    json_fields in(entry, "run", problem);
    auto& job = run.from.jobs[decode_text(in, "job", problem)];
    job.id = decode_id(in, "id", problem);
    job.clock = in.number("clock");
    for (const auto& table : in.array("tables")) {
      json_fields of(table, "run", problem);
      job.tables.push_back({.name = decode_text(of, "name", problem),
                            .shape = decode_shape(of, problem),
                            .optimizer = decode_optimizer(of, problem),
                            .rows = decode_rows(of, problem)});
    }
  }
  return run;
}

recorded_job decode_job(json_fields& fields, status& problem) {
  recorded_job job;
  job.name = decode_text(fields, "job", problem);
  job.state = static_cast<job_state>(
      fields.number("state", static_cast<std::uint64_t>(job_state::failed)));
  job.failure = decode_text(fields, "failure", problem);
  job.began = static_cast<std::int64_t>(fields.number("began"));
  job.ended = static_cast<std::int64_t>(fields.number("ended"));
  job.parameters_sha256 = decode_text(fields, "sha256", problem);
  job.restarts = fields.number("restarts");
  job.checkpoints = fields.number("checkpoints");
  job.checkpoint_clock = fields.number("checkpoint_clock");
  job.begun = decode_id(fields, "begun", problem);
  job.wanted = number32(fields, "wanted");
  for (const auto& entry : fields.array("changes")) {
    json_fields in(entry, "job", problem);
    membership_change change;
    change.number = number32(in, "number");
    change.rank = number32(in, "rank");
    change.clock = in.number("clock");
    change.joins = in.number("joins", 1) == 1;
    change.pushes_here = in.number("here", 1) == 1;
    job.changes.push_back(change);
  }
  return job;
}

recorded_worker decode_worker(json_fields& fields, status& problem) {
  recorded_worker worker;
  worker.job = decode_text(fields, "job", problem);
  worker.rank = number32(fields, "rank");
  worker.joined = fields.number("joined", 1) == 1;
  worker.finished = fields.number("finished", 1) == 1;
  worker.incarnation = number32(fields, "incarnation");
  worker.address = decode_text(fields, "address", problem);
  worker.invited = fields.number("invited", 1) == 1;
  const bool reported = fields.number("told", 1) == 1;
  const auto count = fields.array("tables").size();
  const auto tables = row(fields, "tables", count, limits::tables_max - 1, problem);
  if (reported) worker.tables.emplace(tables.begin(), tables.end());
  const auto earlier = row(fields, "earlier", 2, any_64, problem);
  worker.staleness_max = earlier[0];
  worker.payload_bytes_copied = earlier[1];
  const auto last = row(fields, "last", 7, any_64, problem);
  worker.last = {.clock = last[0],
                 .clocks_total = last[1],
                 .epoch = std::bit_cast<double>(last[2]),
                 .loss = std::bit_cast<double>(last[3]),
                 .samples = last[4],
                 .staleness_max = last[5],
                 .payload_bytes_copied = last[6]};
  return worker;
}

recorded_group decode_group(json_fields& fields, status& problem) {
  recorded_group group;
  group.shard = number32(fields, "shard");
  auto& is = group.state;
  const auto size = std::min<std::size_t>(fields.array("incarnations").size(), members_max);
  for (const auto number : row(fields, "incarnations", size, any_32, problem))
    is.incarnations.push_back(static_cast<std::uint32_t>(number));
  is.view = number32(fields, "view");
  is.serving_view = static_cast<std::uint32_t>(fields.number("serving", is.view));
  is.in_sync = fields.number("in_sync", 1) == 1;
  const auto leaving =
      row(fields, "leaving", 2 * std::min(fields.array("leaving").size() / 2, size), any_32,
          problem);
  for (std::size_t at = 0; at < leaving.size(); at += 2)
    is.leaving.push_back(
        {static_cast<std::uint32_t>(leaving[at]), static_cast<std::uint32_t>(leaving[at + 1])});
  const auto places = std::min(fields.array("chain").size() / 2, size);
  const auto chain = row(fields, "chain", 2 * places, any_32, problem);
  for (std::size_t at = 0; at < places; ++at)
    is.chain.push_back({static_cast<std::uint32_t>(chain[2 * at]),
                        static_cast<std::uint32_t>(chain[2 * at + 1])});
  return group;
}

recorded_slots decode_slots(json_fields& fields, status& problem) {
  recorded_slots slots;
  slots.wanted = number32(fields, "wanted");
  const auto shards = std::min<std::size_t>(fields.array("slot_of").size(), limits::shards_max);
  for (const auto number : row(fields, "slot_of", shards, any_32, problem))
    slots.slot_of.push_back(static_cast<std::uint32_t>(number));
  const auto lives = std::min(fields.array("processes").size() / 3, members_max);
  const auto found = row(fields, "processes", 3 * lives, any_32, problem);
  for (std::size_t at = 0; at < found.size(); at += 3)
    slots.processes.push_back(
        {{static_cast<std::uint32_t>(found[at]), static_cast<std::uint32_t>(found[at + 1])},
         static_cast<std::uint32_t>(found[at + 2])});
  return slots;
}

recorded_tables decode_tables(json_fields& fields, status& problem) {
  recorded_tables tables;
  tables.number = static_cast<std::uint32_t>(fields.number("number", limits::tables_max - 1));
  tables.job = decode_text(fields, "job", problem);
  for (const auto& entry : fields.array("specs")) {
    json_fields in(entry, "tables", problem);
    auto& spec = tables.specs.emplace_back();
    spec.name = decode_text(in, "name", problem);
    spec.shape = decode_shape(in, problem);
    spec.optimizer = decode_optimizer(in, problem);
    spec.rows = decode_rows(in, problem);
    const auto init = row(in, "init", 2, any_32, problem);
    if (init[0] > static_cast<std::uint64_t>(init_kind::pushed)) {
      if (problem.ok()) problem = {errc::corrupt, "no such init"};
      return tables;
    }
    spec.init = {static_cast<init_kind>(init[0]),
                 std::bit_cast<float>(static_cast<std::uint32_t>(init[1]))};
  }
  return tables;
}

recorded_metric decode_metric(json_fields& fields, status& problem) {
  return {.job = decode_text(fields, "job", problem),
          .name = decode_text(fields, "name", problem),
          .value = std::bit_cast<double>(fields.number("value"))};
}

runtime::expected<coordinator_record> decode(const journal_entry& from) {
  const auto subject = "journal: " + from.key;
  const auto parsed = parse_json_object(from.value, subject, record_depth_max);
  if (!parsed) return fail(parsed.error());
  status problem;
  json_fields fields(*parsed, subject, problem);
  coordinator_record record;
  const auto kind = from.key.substr(0, from.key.find('/'));
  if (kind == "run") {
    record = decode_run(fields, problem);
  } else if (kind == "job") {
    record = decode_job(fields, problem);
  } else if (kind == "worker") {
    record = decode_worker(fields, problem);
  } else if (kind == "group") {
    record = decode_group(fields, problem);
  } else if (kind == "slots") {
    record = decode_slots(fields, problem);
  } else if (kind == "tables") {
    record = decode_tables(fields, problem);
  } else if (kind == "metric") {
    record = decode_metric(fields, problem);
  } else {
    problem = {errc::corrupt, "no such kind of record"};
  }
  if (!problem.ok()) return fail(errc::corrupt, subject + ": " + problem.message());
  // One record has one key.
  if (policies::encode(record).key != from.key)
    return fail(errc::corrupt, subject + ": is the record of another key");
  return record;
}

}  // namespace

journal_entry encode(const coordinator_record& record) {
  return std::visit(encoder(), record);
}

runtime::expected<recorded_cluster> decode_entries(std::span<const journal_entry> entries) {
  recorded_cluster cluster;
  for (const auto& entry : entries) {
    auto record = decode(entry);
    if (!record) return fail(record.error());
    if (auto* run = std::get_if<recorded_run>(&*record)) cluster.run = std::move(*run);
    if (auto* job = std::get_if<recorded_job>(&*record))
      cluster.jobs.push_back(std::move(*job));
    if (auto* worker = std::get_if<recorded_worker>(&*record))
      cluster.workers.push_back(std::move(*worker));
    if (auto* group = std::get_if<recorded_group>(&*record)) cluster.groups.push_back(*group);
    if (auto* slots = std::get_if<recorded_slots>(&*record)) cluster.slots = std::move(*slots);
    if (auto* tables = std::get_if<recorded_tables>(&*record))
      cluster.tables.push_back(std::move(*tables));
    if (auto* metric = std::get_if<recorded_metric>(&*record))
      cluster.metrics.push_back(std::move(*metric));
  }
  std::sort(cluster.tables.begin(), cluster.tables.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return cluster;
}

}  // namespace tidegate::policies
