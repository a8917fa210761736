#include "launch/page/page_documents.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/page/assets.hpp"
#include "launch/page/history_reader.hpp"
#include "launch/page/run_files.hpp"
#include "launch/text/scalars.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t history_bytes_most = std::size_t{1} << 20U;  // that a request reads
constexpr std::uint64_t reason_lines_most = 3600;
constexpr std::uint64_t reason_lines_default = 30;
constexpr std::int64_t reasons_ns = 900'000'000;  // for which an answer is kept
constexpr int http_bad_request = 400;
constexpr int http_not_found = 404;
constexpr int http_unavailable = 503;
// Scripts, styles and questions go to where the page is from, and nothing else is loaded.
constexpr const char* content_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
    "'self' "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

http_answer answer(std::string text, int status = 200) {
  return {.type = "application/json",
          .text = std::make_shared<const std::string>(std::move(text) + "\n"),
          .status = status};
}

http_answer refusal(int status, const std::string& why) {
  return answer(json{{"error", why}}.dump(-1, ' ', false, json::error_handler_t::replace),
                status);
}

http_answer answer(const runtime::expected<std::string>& text) {
  if (text) return answer(*text);
  return refusal(
      text.error().code() == runtime::errc::not_found ? http_not_found : http_unavailable,
      text.error().message());
}

// The history and the reasons of one run folder, which all that ask share.
class shared_record {
 public:
  explicit shared_record(std::string run_dir)
      : run_dir_(std::move(run_dir)), reader_(run_dir_) {}

  const std::string& run_dir() const noexcept { return run_dir_; }

  std::string history(const std::string& job, const std::string& since) {
    const std::lock_guard lock(history_mutex_);
    const bool is_whole = reader_.read(history_bytes_most);
    const auto& history = reader_.history();
    const auto& problem = history.problem().empty() ? reader_.failure() : history.problem();
    auto text = json{{"whole", is_whole}, {"problem", problem}, {"jobs", history.jobs()}}.dump(
        -1, ' ', false, json::error_handler_t::replace);
    const auto name = job.empty() && !history.jobs().empty() ? history.jobs().front() : job;
    if (const auto* series = history.find(name); series != nullptr) {
      text.pop_back();
      text += ",\"series\":" + series_json(name, *series, since) + "}";
    }
    return text;
  }

  std::shared_ptr<const std::string> reasons(std::uint64_t lines) {
    const std::lock_guard lock(reasons_mutex_);
    const auto now = runtime::steady_now();
    if (!reasons_ || reasons_lines_ != lines || now >= reasons_at_ + reasons_ns) {
      reasons_ = std::make_shared<const std::string>(
          reasons_json(run_dir_, lines, jobs_of_history()) + "\n");
      reasons_lines_ = lines;
      reasons_at_ = now;
    }
    return reasons_;
  }

 private:
  std::size_t jobs_of_history() {
    const std::lock_guard lock(history_mutex_);
    return std::max<std::size_t>(reader_.history().jobs().size(), 1);
  }

  std::string run_dir_;
  std::mutex history_mutex_;
  history_reader reader_;
  std::mutex reasons_mutex_;  // comes before the other
  std::shared_ptr<const std::string> reasons_;
  std::uint64_t reasons_lines_ = 0;
  std::int64_t reasons_at_ = 0;
};

// Waits for the run to have a folder.
class record_of_source {
 public:
  explicit record_of_source(page_source source) : source_(std::move(source)) {}

  // Returns null as long as there is no folder.
  std::shared_ptr<shared_record> find() {
    const std::lock_guard lock(mutex_);
    if (!record_)
      if (auto run_dir = source_.run_dir(); !run_dir.empty())
        record_ = std::make_shared<shared_record>(std::move(run_dir));
    return record_;
  }

 private:
  std::mutex mutex_;
  page_source source_;
  std::shared_ptr<shared_record> record_;
};

// A parameter that is not given is 0 or `otherwise`; nullopt: it is no number.
std::optional<std::uint64_t> number_of(const http_request& request, const std::string& name,
                                       std::uint64_t otherwise) {
  const auto text = request.parameter(name);
  return text.empty() ? otherwise : parse_unsigned(text);
}

http_answer read_events(const http_request& request, shared_record& record) {
  const auto since = number_of(request, "since", 0);
  if (!since) return refusal(http_bad_request, "since: the number of a byte is wanted");
  return answer(events_json(record.run_dir(), *since));
}

http_answer read_log(const http_request& request, shared_record& record) {
  const auto process = request.parameter("process");
  return process.empty() ? answer(log_names_json(record.run_dir()))
                         : answer(log_json(record.run_dir(), process));
}

http_answer read_reasons(const http_request& request, shared_record& record) {
  const auto lines = number_of(request, "lines", reason_lines_default);
  if (!lines || *lines == 0 || *lines > reason_lines_most)
    return refusal(http_bad_request,
                   "lines: 1 to " + std::to_string(reason_lines_most) + " are wanted");
  return {.type = "application/json", .text = record.reasons(*lines)};
}

http_answer read_history(const http_request& request, shared_record& record) {
  return answer(record.history(request.parameter("job"), request.parameter("since")));
}

http_document asset_document(const page_asset& asset) {
  const http_answer answer{.type = std::string(asset.type),
                           .text = std::make_shared<const std::string>(asset.text),
                           .tag = std::string(asset.tag),
                           .content_policy = content_policy};
  return {.path = std::string(asset.path),
          .read = [answer](const http_request&) { return answer; },
          .is_public = true};
}

}  // namespace

std::vector<http_document> page_documents(const page_source& source) {
  std::vector<http_document> all;
  for (const auto& asset : page_assets()) all.push_back(asset_document(asset));
  const auto record = std::make_shared<record_of_source>(source);
  // Reasons, events and logs have what processes have written.
  const auto add = [&](const char* path, auto read) {
    all.push_back({.path = path,
                   .read =
                       [record, read](const http_request& request) {
                         const auto found = record->find();
                         return found ? read(request, *found)
                                      : refusal(http_unavailable, "the run has no folder yet");
                       },
                   .is_of_user = true});
  };
  add("/history.json", read_history);
  add("/events.json", read_events);
  add("/log.json", read_log);
  add("/reasons.json", read_reasons);
  return all;
}

}  // namespace tidegate::launch
