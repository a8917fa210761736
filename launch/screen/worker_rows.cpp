#include "launch/screen/worker_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "launch/text/json_fields.hpp"

namespace tidegate::launch {

std::vector<worker_row> workers_of(const nlohmann::json& status) {
  std::map<std::string, std::string> hosts;  // by process
  for (const auto& process : list_in(status, "processes"))
    hosts[text_in(process, "name", "")] = text_in(process, "host", "");
  std::vector<worker_row> rows;
  for (const auto& job : list_in(status, "jobs")) {
    if (text_in(job, "state", "") != "running") continue;
    const auto name = text_in(job, "name", "");
    const auto& left = list_in(job, "ranks_left");
    for (const auto& worker : list_in(job, "members")) {
      if (std::find(left.begin(), left.end(), count_in(worker, "rank")) != left.end()) continue;
      worker_row row;
      row.job = name;
      row.rank = count_in(worker, "rank");
      const auto at = hosts.find("worker-" + name + "-" + std::to_string(row.rank));
      if (at != hosts.end()) row.host = at->second;
      row.clock = count_in(worker, "clock");
      row.incarnation = count_in(worker, "incarnation");
      row.samples = number_in(worker, "samples_per_second");
      row.computes = number_in(worker, "computes");
      row.calls = number_in(worker, "calls");
      row.waits = number_in(worker, "waits");
      row.last = number_in(worker, "comes_last");
      row.late = number_in(worker, "late_per_clock");
      row.joined = flag_in(worker, "joined");
      row.finished = flag_in(worker, "finished");
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace tidegate::launch
