#include "launch/page/view.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <poll.h>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "launch/page/page_documents.hpp"
#include "launch/processes/signals.hpp"
#include "launch/run/run_folders.hpp"
#include "launch/run/status_feed.hpp"
#include "launch/text/progress_text.hpp"

namespace tidegate::launch {

namespace {

using json = nlohmann::ordered_json;

exit_code cannot_view(const std::string& why) {
  std::cerr << "tidegate view: " << why << "\n";
  return exit_code::job_failed;
}

// Nobody speaks for the run; what its folder has of it is told elsewhere.
std::string lost_status(const std::string& why) {
  json all{{"cluster", ""}, {"state", "lost"}, {"problem", why}};
  for (const auto* empty : {"jobs", "processes", "hosts", "waits"}) all[empty] = json::array();
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

// A launcher that is stopped leaves its last status.
std::string with_age(const std::string& status, double age_seconds) {
  auto all = json::parse(status, nullptr, false);
  if (!all.is_object()) return status;
  all["problem"] = "the launcher has not answered for " + duration_text(age_seconds);
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

http_answer status_answer(const status_feed& feed) {
  constexpr double stale_seconds = 3;
  const auto newest = feed.newest();
  auto text = !newest.status   ? lost_status("the launcher has not answered yet")
              : *newest.status ? **newest.status
                               : lost_status(newest.status->error().message());
  if (newest.status && *newest.status && !newest.has_ended &&
      newest.age_seconds >= stale_seconds)
    text = with_age(text, newest.age_seconds);
  return {.type = "application/json", .text = std::make_shared<const std::string>(text + "\n")};
}

void wait_for_signal(const signal_source& signals, const http_server& server) {
  constexpr int look_again_ms = 1000;
  pollfd come{.fd = signals.fd(), .events = POLLIN, .revents = 0};
  while (signals.next() == 0 && server.is_listening()) (void)::poll(&come, 1, look_again_ms);
}

}  // namespace

exit_code view_run(const std::string& run_dir, const std::optional<endpoint>& address) {
  std::error_code error;
  const auto path = std::filesystem::absolute(run_dir, error).string();
  if (error || !is_run(path))
    return cannot_view(run_dir +
                       " is no run folder: it has no cluster.yaml or no events.jsonl");
  const auto at = address.value_or(endpoint{.host = "127.0.0.1", .port = 0});
  const signal_source signals;
  const auto feed = std::make_shared<status_feed>(path);
  auto documents = page_documents({.run_dir = [path] { return path; }});
  documents.push_back({.path = "/status.json",
                       .read = [feed](const http_request&) { return status_answer(*feed); },
                       .is_of_user = true});
  const auto server = http_server::listen(at.host, at.port, "", std::move(documents));
  if (!server) return cannot_view(server.error().message());
  std::cout << "http://" << to_string(endpoint{.host = at.host, .port = (*server)->port()})
            << "/ shows " << run_dir << " until Ctrl-C\n"
            << std::flush;
  wait_for_signal(signals, **server);
  if ((*server)->is_listening()) return exit_code::done;
  return cannot_view("the system hands out no connections any more");
}

}  // namespace tidegate::launch
