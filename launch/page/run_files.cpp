#include "launch/page/run_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "launch/plan/run_paths.hpp"
#include "launch/run/attribution.hpp"
#include "launch/run/run_folder.hpp"
#include "launch/run/run_folders.hpp"
#include "launch/text/json_fields.hpp"
#include "launch/text/printable.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using runtime::errc;

constexpr std::uint64_t event_bytes_most = 256 * 1024;
constexpr std::size_t events_most = 500;
constexpr std::size_t detail_bytes_most = 400;
constexpr std::size_t log_lines_most = 200;
constexpr std::int64_t log_bytes_most = 64 * 1024;
constexpr std::int64_t metrics_bytes_most = 2 * 1024 * 1024;

std::string dump(const json& all) {
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

struct part_of_file {
  std::string text;
  std::uint64_t begin = 0;  // its first byte
};

// Whole lines from `since` on, of event_bytes_most at most: the last ones.
runtime::expected<part_of_file> read_lines(const std::string& path, std::uint64_t since) {
  const auto failed = [&] {
    return runtime::fail(errc::io_error, path + ": " + std::strerror(errno));
  };
  const runtime::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return part_of_file();
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0) return failed();
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (since > size) since = 0;  // it is another file than the one before
  auto begin = std::max(since, size - std::min(size, event_bytes_most));
  // The byte before says whether a line begins here.
  const auto look_at = begin - std::min<std::uint64_t>(begin, 1);
  part_of_file part{.text = std::string(size - look_at, '\0'), .begin = look_at};
  const auto got =
      ::pread(file.get(), part.text.data(), part.text.size(), static_cast<off_t>(look_at));
  if (got < 0) return failed();
  part.text.resize(static_cast<std::size_t>(got));
  part.text.resize(part.text.rfind('\n') + 1);  // npos + 1: no line is whole
  if (begin > 0) {
    const auto first = std::min(part.text.find('\n'), part.text.size() - 1) + 1;
    part.text.erase(0, first);
    part.begin += first;
  }
  return part;
}

json event_json(std::string_view text) {
  const auto line = json::parse(text, nullptr, false);
  if (!line.is_object()) return nullptr;
  const auto happened = line.find("happened_ns");
  const auto written = line.find("unix_ns");
  const auto at = happened == line.end() ? written : happened;
  if (at == line.end() || !at->is_number_integer()) return nullptr;
  return {{"unix_ns", *at},
          {"kind", event_kind_in(line)},
          {"detail", valid_utf8(text_in(line, "detail", "").substr(0, detail_bytes_most))}};
}

}  // namespace

runtime::expected<std::string> events_json(const std::string& run_dir, std::uint64_t since) {
  const auto part = read_lines(run_dir + "/events.jsonl", since);
  if (!part) return runtime::fail(part.error());
  const auto& text = part->text;
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    lines.push_back(std::string_view(text).substr(at, end - at));
    at = end + 1;
  }
  const auto left_out = lines.size() - std::min(lines.size(), events_most);
  json all{{"next", part->begin + text.size()},
           {"skipped", left_out > 0 || part->begin > since}};
  all["events"] = json::array();
  for (auto i = left_out; i < lines.size(); ++i)
    if (auto event = event_json(lines[i]); !event.is_null())
      all["events"].push_back(std::move(event));
  return dump(all);
}

std::string log_names_json(const std::string& run_dir) {
  return dump({{"processes", log_writers(run_dir)}});
}

// A name becomes a part of a path only if it is one of the list.
runtime::expected<std::string> log_json(const std::string& run_dir, std::string_view process) {
  const auto names = log_writers(run_dir);
  const auto at = std::find(names.begin(), names.end(), process);
  if (at == names.end())
    return runtime::fail(errc::not_found, "no process of that name has a log");
  const auto path = log_path(run_dir, *at);
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return dump({{"process", *at},
               {"bytes", error ? 0 : bytes},
               {"text", valid_utf8(last_lines(path, log_lines_most, log_bytes_most))}});
}

std::string reasons_json(const std::string& run_dir, std::size_t lines, std::size_t jobs) {
  std::istringstream text(
      last_lines(run_dir + "/metrics.jsonl", lines * jobs, metrics_bytes_most));
  metrics_record record;
  json all{{"jobs", json::array()}};
  if (!record.read(text).ok()) return dump(all);
  for (const auto& job : record.jobs()) {
    const auto of = record.attribute(job, {});
    if (!of) continue;
    json entry{{"job", job},
               {"seconds", of->seconds},
               {"first_clock", of->first_clock},
               {"last_clock", of->last_clock}};
    entry["reasons"] = entry["ranks"] = entry["shards"] = json::array();
    for (const auto& reason : reasons_text(*of)) entry["reasons"].push_back(reason);
    entry["held_up"] = of->held_up.size();  // the first so many say who does
    for (const auto& each : of->held_up) {
      const bool is_worker = each.kind == policies::held_up_by::party::worker;
      entry[is_worker ? "ranks" : "shards"].push_back(each.number);
    }
    all["jobs"].push_back(std::move(entry));
  }
  return dump(all);
}

}  // namespace tidegate::launch
