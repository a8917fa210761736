#include "launch/run/run_monitor.hpp"

#include <array>
#include <mutex>
#include <string>
#include <utility>

#include "launch/run/metrics_text.hpp"

namespace tidegate::launch {

namespace {

constexpr std::int64_t view_pause_ns = 500'000'000;  // between views
using text = std::shared_ptr<const std::string>;

}  // namespace

// Each text is kept for as long as its view.
struct run_monitor::shared {
  std::mutex mutex;
  std::shared_ptr<const run_view> view = std::make_shared<run_view>();
  std::array<text, 2> metrics;  // by format
  text status;

  void show(run_view next) {
    auto shown = std::make_shared<const run_view>(std::move(next));
    const std::lock_guard lock(mutex);
    view.swap(shown);
    metrics = {};
    status = {};
  }
  http_answer read_metrics(const std::string& accept) {
    const auto format = wanted_format(accept);
    const auto text = read(metrics.at(static_cast<std::size_t>(format)),
                           [&](const run_view& of) { return metrics_text(of, format); });
    return {.type = std::string(content_type(format)), .text = text};
  }
  http_answer read_status() {
    return {.type = "application/json",
            .text = read(status, [](const run_view& of) { return status_line(of) + "\n"; })};
  }
  std::string run_dir() {
    const std::lock_guard lock(mutex);
    return view->run_dir;
  }

 private:
  // Whoever shows a view does not wait until a text of the one before is made.
  template <class Make>
  text read(text& known, const Make& make) {
    std::shared_ptr<const run_view> of;
    {
      const std::lock_guard lock(mutex);
      if (known) return known;
      of = view;
    }
    const auto fresh = std::make_shared<const std::string>(make(*of));
    const std::lock_guard lock(mutex);
    if (of == view) known = fresh;
    return fresh;
  }
};

runtime::expected<std::unique_ptr<run_monitor>> run_monitor::open(
    const policies::cluster_spec& cluster, const page_maker& page) {
  if (!cluster.monitor) return std::unique_ptr<run_monitor>();
  const auto& spec = *cluster.monitor;
  const auto failed = [](const runtime::status& why) {
    return runtime::fail(why.code(), "monitor: " + why.message());
  };
  std::string key;
  if (!spec.key_file.empty()) {
    auto read = read_monitor_key(spec.key_file);
    if (!read) return failed(read.error());
    key = std::move(*read);
  }
  auto opened = std::unique_ptr<run_monitor>(new run_monitor());
  opened->shared_ = std::make_shared<shared>();
  opened->host_ = spec.host;
  const auto from = opened->shared_;
  std::vector<http_document> documents;
  if (page) documents = page({.run_dir = [from] { return from->run_dir(); }});
  documents.push_back({.path = "/metrics", .read = [from](const http_request& request) {
                         return from->read_metrics(request.accept);
                       }});
  documents.push_back({.path = "/status.json",
                       .read = [from](const http_request&) { return from->read_status(); },
                       .is_of_user = true});
  auto server = http_server::listen(spec.host, spec.port, key, std::move(documents));
  if (!server) return failed(server.error());
  opened->server_ = std::move(*server);
  return opened;
}

bool run_monitor::is_due(std::int64_t now) const noexcept {
  return shown_at_ == 0 || now >= shown_at_ + view_pause_ns;
}

void run_monitor::show(std::int64_t now, run_view view) {
  shown_at_ = now;
  shared_->show(std::move(view));
}

endpoint run_monitor::address() const {
  return {.host = host_, .port = server_->port()};
}

}  // namespace tidegate::launch
