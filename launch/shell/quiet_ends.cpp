#include "launch/shell/quiet_ends.hpp"

#include <algorithm>

namespace tidegate::launch {

std::vector<std::string> quiet_ends::take(const policies::job_status& job) {
  auto known = policies::ranks_left(job.changes);
  known.insert(known.end(), job.ranks_finished.begin(), job.ranks_finished.end());
  std::vector<std::string> texts;
  std::erase_if(ends_, [&](const auto& entry) {
    const auto& [name, text] = entry.second;
    if (name.job != job.name) return false;
    if (std::find(known.begin(), known.end(), name.index) == known.end()) texts.push_back(text);
    return true;
  });
  return texts;
}

}  // namespace tidegate::launch
