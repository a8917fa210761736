#include "policies/checkpoint/cancelled_jobs.hpp"

#include <string_view>

#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/name.hpp"

namespace tidegate::policies {

namespace {

constexpr std::string_view cancelled_prefix = "cancelled-";

// No name of a job has a dot, and a temporary file has.
bool is_whole(const std::string& name) {
  return name.starts_with(cancelled_prefix) && name.find('.') == std::string::npos;
}

}  // namespace

runtime::expected<std::vector<std::string>> cancelled_jobs(runtime::storage& folder) {
  const auto names = folder.list();
  if (!names) return runtime::fail(names.error());
  std::vector<std::string> jobs;
  for (const auto& name : *names)
    if (is_whole(name)) jobs.push_back(name.substr(cancelled_prefix.size()));
  return jobs;
}

runtime::status record_cancelled(runtime::storage& folder, const std::string& job) {
  const auto names = folder.list();
  if (!names) return names.error();
  const auto name = std::string(cancelled_prefix) + job;
  for (const auto& present : *names) {
    if (present == name) return {};
    // The beginning of it, from before a crash.
    if (present == name + std::string(temporary_suffix))
      if (auto removed = folder.remove(present); !removed) return removed;
  }
  auto written = write_all(file_writer(name, pieces_of("tidegate\n", {})), folder);
  return written ? runtime::status() : written.error();
}

}  // namespace tidegate::policies
