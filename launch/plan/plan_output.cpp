#include <map>

#include <nlohmann/json.hpp>

#include "launch/config/words.hpp"
#include "launch/plan/plan.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/shell_word.hpp"
#include "launch/text/text_table.hpp"

namespace tidegate::launch {

namespace {

std::string host_rows(const cluster_plan& plan) {
  if (plan.hosts.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"host", "address", "what starts its agent"}};
  for (const auto& host : plan.hosts)
    rows.push_back(
        {host.name, host.rails.empty() ? host.address : host.address + ", " + join(host.rails),
         host.agent.empty() ? "the launcher, which is there" : shell_command(host.agent)});
  return format_table(rows) + "\n";
}

// Workers of a job run one command: one row for all of them, and one for all shards; neighbours
// on one host, where there are several.
std::string process_rows(const cluster_plan& plan) {
  const bool hosts = !plan.processes.empty() && !plan.processes.front().host.empty();
  std::vector<std::vector<std::string>> rows{{"role", "job", "index", "command"}};
  if (hosts) rows[0].insert(rows[0].begin(), "host");
  for (std::size_t i = 0; i < plan.processes.size();) {
    const auto& first = plan.processes[i].name;
    const auto& host = plan.processes[i].host;
    auto end = i;
    while (end < plan.processes.size() && plan.processes[end].name.role == first.role &&
           plan.processes[end].name.job == first.job && plan.processes[end].host == host &&
           plan.processes[end].name.index == first.index + (end - i)) {
      ++end;
    }
    auto index = std::to_string(first.index);
    if (end - i > 1) index += ".." + std::to_string(plan.processes[end - 1].name.index);
    const auto command = first.role == process_role::worker
                             ? join(plan.processes[i].command, " ")
                             : "tidegate node " + std::string(to_string(first.role));
    rows.push_back({std::string(to_string(first.role)), first.job, index, command});
    if (hosts) rows.back().insert(rows.back().begin(), host);
    i = end;
  }
  return format_table(rows);
}

std::string per_shard(const std::vector<std::uint64_t>& counts) {
  constexpr std::size_t shown_max = 8;
  std::string text;
  for (std::size_t i = 0; i < counts.size() && i < shown_max; ++i) {
    text += (i == 0 ? "" : " ") + std::to_string(counts[i]);
  }
  return counts.size() > shown_max ? text + " ..." : text;
}

// "ftrl, adagrad" of a table whose rows have segments.
std::string optimizers_of(const table_plan& table) {
  std::string text;
  for (const auto kind : table.optimizers)
    text += (text.empty() ? "" : ", ") + std::string(word(optimizer_words, kind));
  return text;
}

std::string size_of(const table_plan& table) {
  if (table.row_dim == 0) return bytes_for_people(table.bytes);
  if (table.row_memory == 0) return "as made";
  return "as made, " + bytes_for_people(table.row_memory) + " in memory of each shard";
}

std::string job_rows(const job_plan& job) {
  std::string text = "\njob " + job.name + ": " + std::to_string(job.workers) +
                     (job.workers == 1 ? " worker, " : " workers, ") + job.policy;
  if (job.aggregators > 0)
    text += ", " + std::to_string(job.aggregators) +
            (job.aggregators == 1 ? " aggregator" : " aggregators");
  text += "\n";
  if (!job.checkpoints.empty()) text += "  checkpoints in " + job.checkpoints + "\n";
  if (job.tables.empty()) return text + "  no tables declared; workers create them\n";
  std::vector<std::vector<std::string>> rows{
      {"table", "elements", "size", "chunks", "optimizer", "chunks per shard"}};
  for (const auto& t : job.tables) {
    rows.push_back(
        {t.name,
         t.row_dim > 0 ? "rows of " + std::to_string(t.row_dim) : std::to_string(t.elements),
         size_of(t), std::to_string(t.chunks), optimizers_of(t),
         per_shard(t.chunks_per_shard)});
  }
  return text + format_table(rows, {1, 2, 3});
}

std::string needs_rows(const cluster_plan& plan) {
  std::vector<std::vector<std::string>> rows{
      {"the most of its role", "peers", "descriptors", "mappings"}};
  for (const auto& need : plan.needs)
    rows.push_back({need.process, std::to_string(need.peers), std::to_string(need.descriptors),
                    std::to_string(need.mappings)});
  return format_table(rows, {1, 2, 3});
}

std::vector<std::string> memory_row(const std::string& name,
                                    const policies::memory_needs& needs) {
  return {name,
          bytes_for_people(needs.parameters),
          bytes_for_people(needs.versions),
          bytes_for_people(needs.states),
          bytes_for_people(needs.gradients),
          bytes_for_people(needs.sums),
          bytes_for_people(needs.checkpoint),
          bytes_for_people(needs.kept),
          bytes_for_people(needs.total())};
}

// "worker-mlp-3" is of "worker-mlp".
std::string group_of(const std::string& process) {
  return process.substr(0, process.find_last_of('-'));
}

// Processes of one role and job that need the same have one row.
std::string memory_rows(const cluster_plan& plan) {
  std::vector<std::vector<std::string>> rows{{"process", "parameters", "versions",
                                              "optimizer state", "gradients", "sums",
                                              "checkpoint", "kept", "in all"}};
  for (std::size_t i = 0; i < plan.memory.size();) {
    const auto& first = plan.memory[i];
    auto end = i + 1;
    while (end < plan.memory.size() &&
           group_of(plan.memory[end].process) == group_of(first.process) &&
           memory_row("", plan.memory[end]) == memory_row("", first))
      ++end;
    auto name = first.process;
    if (end - i > 1)
      name += ".." + plan.memory[end - 1].process.substr(group_of(first.process).size() + 1);
    rows.push_back(memory_row(name, first));
    i = end;
  }
  std::map<std::string, std::uint64_t> hosts;
  for (const auto& needs : plan.memory) hosts[needs.host] += needs.total();
  for (const auto& [host, bytes] : hosts)
    rows.push_back({host.empty() ? "all processes" : "all on " + host, "", "", "", "", "", "",
                    "", bytes_for_people(bytes)});
  return format_table(rows, {1, 2, 3, 4, 5, 6, 7, 8});
}

}  // namespace

std::string plan_text(const cluster_plan& plan) {
  std::string text = "cluster " + plan.cluster + ": " + std::to_string(plan.processes.size()) +
                     " processes, chunks of " + bytes_for_people(plan.chunk_bytes) + "\n\n" +
                     host_rows(plan) + process_rows(plan);
  for (const auto& job : plan.jobs) text += job_rows(job);
  std::vector<std::vector<std::string>> rows{{plan.parts_move ? "part" : "shard", "chunks",
                                              "parameters", "optimizer state",
                                              "receive buffers, at most"}};
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    const auto& s = plan.shards[i];
    rows.push_back({std::to_string(i), std::to_string(s.chunks),
                    bytes_for_people(s.parameter_bytes), bytes_for_people(s.state_bytes),
                    bytes_for_people(s.receive_bytes_max)});
  }
  const auto where = plan.device.empty() ? "" : ", the shard's on " + plan.device;
  return text + "\nmemory for declared tables" + where + "\n" +
         format_table(rows, {0, 1, 2, 3, 4}) + "\nmemory of each process for them, at most\n" +
         memory_rows(plan) + "\nfile descriptors, before payload, and mappings of tables\n" +
         needs_rows(plan);
}

std::string plan_json(const cluster_plan& plan) {
  using json = nlohmann::ordered_json;
  json root{{"cluster", plan.cluster}, {"chunk_bytes", plan.chunk_bytes}};
  if (!plan.device.empty()) root["device"] = plan.device;
  for (const auto& host : plan.hosts) {
    root["hosts"].push_back(
        {{"name", host.name}, {"address", host.address}, {"agent", host.agent}});
    if (!host.rails.empty()) root["hosts"].back()["rails"] = host.rails;
  }
  root["processes"] = json::array();
  for (const auto& p : plan.processes) {
    root["processes"].push_back({{"role", to_string(p.name.role)},
                                 {"job", p.name.job},
                                 {"index", p.name.index},
                                 {"command", p.command}});
    if (!p.host.empty()) root["processes"].back()["host"] = p.host;
  }
  root["jobs"] = json::array();
  for (const auto& j : plan.jobs) {
    json tables = json::array();
    for (const auto& t : j.tables) {
      tables.push_back({{"name", t.name},
                        {"elements", t.elements},
                        {"bytes", t.bytes},
                        {"chunks", t.chunks},
                        {"chunks_per_shard", t.chunks_per_shard},
                        {"optimizer", optimizers_of(t)}});
      if (t.row_dim > 0) tables.back()["row_dim"] = t.row_dim;
      if (t.row_memory > 0) tables.back()["row_memory"] = t.row_memory;
    }
    root["jobs"].push_back({{"name", j.name},
                            {"policy", j.policy},
                            {"workers", j.workers},
                            {"aggregators", j.aggregators},
                            {"tables", tables}});
    if (!j.checkpoints.empty()) root["jobs"].back()["checkpoints"] = j.checkpoints;
  }
  root["shards"] = json::array();
  for (const auto& s : plan.shards) {
    root["shards"].push_back({{"chunks", s.chunks},
                              {"parameter_bytes", s.parameter_bytes},
                              {"state_bytes", s.state_bytes},
                              {"receive_bytes_max", s.receive_bytes_max}});
  }
  root["needs"] = json::array();
  for (const auto& need : plan.needs)
    root["needs"].push_back({{"process", need.process},
                             {"peers", need.peers},
                             {"host_peers", need.host_peers},
                             {"descriptors", need.descriptors},
                             {"mappings", need.mappings}});
  root["memory"] = json::array();
  for (const auto& needs : plan.memory)
    root["memory"].push_back({{"process", needs.process},
                              {"host", needs.host},
                              {"parameter_bytes", needs.parameters},
                              {"version_bytes", needs.versions},
                              {"state_bytes", needs.states},
                              {"gradient_bytes", needs.gradients},
                              {"sum_bytes", needs.sums},
                              {"checkpoint_bytes", needs.checkpoint},
                              {"kept_bytes", needs.kept},
                              {"bytes", needs.total()}});
  return root.dump(2) + "\n";
}

}  // namespace tidegate::launch
