#include "launch/run/metrics_export.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "launch/monitor/http_post.hpp"
#include "launch/monitor/otlp_document.hpp"
#include "launch/run/metrics_text.hpp"
#include "launch/run/run_folder.hpp"
#include "launch/text/files.hpp"
#include "runtime/base/service_thread.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

using runtime::errc;

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t conclusion_ms = 2'000;  // for the last view
constexpr std::int64_t give_up_ms = 1'000;     // until libcurl sees that it is to

}  // namespace

struct metrics_export::worker {
  worker(std::unique_ptr<http_post> to, std::uint32_t timeout)
      : post(std::move(to)),
        timeout_ms(timeout),
        thread(runtime::start_service_thread([this] { serve(); })) {}
  ~worker() {
    {
      const std::lock_guard lock(mutex);
      is_over = true;
      is_given_up = true;
    }
    changed.notify_all();
    thread.join();
  }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  bool is_idle() {
    const std::lock_guard lock(mutex);
    return !next && !is_sending;
  }
  void put(run_view view) {
    auto shown = std::make_unique<const run_view>(std::move(view));
    const std::lock_guard lock(mutex);
    next.swap(shown);
    changed.notify_all();
  }
  void conclude(run_view last) {
    std::unique_lock lock(mutex);
    is_given_up = is_sending;  // it is older
    deadline = runtime::steady_now() + conclusion_ms * ns_per_ms;
    next = std::make_unique<const run_view>(std::move(last));
    changed.notify_all();
    changed.wait_for(lock, std::chrono::milliseconds(conclusion_ms + give_up_ms),
                     [this] { return !next && !is_sending; });
  }
  std::optional<news> take_news() {
    const std::lock_guard lock(mutex);
    return std::exchange(told, std::nullopt);
  }

 private:
  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return is_over || next; });
      if (is_over) return;
      const auto view = std::exchange(next, nullptr);
      is_sending = true;
      is_given_up = false;
      lock.unlock();
      const auto sent = send(*view);
      lock.lock();
      is_sending = false;
      note(sent);
      changed.notify_all();
    }
  }

  runtime::status send(const run_view& view) {
    const auto unix_ns = runtime::unix_now();
    otlp_document document({.cluster = view.cluster,
                            .version = view.version,
                            .instance = host + ":" + view.run_dir,
                            .host = host},
                           starts, unix_ns);
    add_metrics(view, document);
    std::int64_t most_ms = timeout_ms;
    if (const auto end = deadline.load(); end != 0)
      most_ms = std::clamp<std::int64_t>((end - runtime::steady_now()) / ns_per_ms, 1, most_ms);
    const auto answer = post->send(document.finish(), most_ms, is_given_up);
    return answer ? refusal_of(*answer) : answer.error();
  }

  // Nothing is told of a request that a newer view has ended.
  void note(const runtime::status& sent) {
    if (!sent.ok() && is_given_up) return;
    if (sent.ok() && is_lost)
      told = news{.is_lost = false, .detail = std::to_string(lost) + " were lost"};
    else if (!sent.ok() && !is_lost)
      told = news{.is_lost = true, .detail = sent.message()};
    lost = sent.ok() ? 0 : lost + 1;
    is_lost = !sent.ok();
  }

  std::unique_ptr<http_post> post;
  const std::int64_t timeout_ms;
  const std::string host = own_host_name();
  counter_starts starts{runtime::unix_now()};
  std::atomic<bool> is_given_up = false;
  // By steady_now(), for the last view; 0: others follow.
  std::atomic<std::int64_t> deadline = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<const run_view> next;
  bool is_sending = false;
  bool is_over = false;
  bool is_lost = false;
  std::uint64_t lost = 0;  // requests since the last that was answered well
  std::optional<news> told;
  std::thread thread;  // the last: it uses the others
};

runtime::expected<std::unique_ptr<metrics_export>> metrics_export::open(
    const std::optional<otlp_spec>& spec) {
  if (!spec) return std::unique_ptr<metrics_export>();
  const auto failed = [](const runtime::status& why) {
    return runtime::fail(why.code(), "otlp: " + why.message());
  };
  http_target target{.url = spec->url, .certificates = spec->certificates};
  if (!spec->headers_file.empty()) {
    auto headers = read_headers(spec->headers_file);
    if (!headers) return failed(headers.error());
    target.headers = std::move(*headers);
  }
  if (!spec->certificates.empty())
    if (const auto read = read_file(spec->certificates); !read) return failed(read.error());
  auto post = http_post::open(std::move(target));
  if (!post) return failed(post.error());
  auto opened = std::unique_ptr<metrics_export>(new metrics_export(*spec));
  try {
    opened->worker_ = std::make_unique<worker>(std::move(*post), spec->timeout_ms);
  } catch (const std::system_error& why) {
    return failed({errc::unavailable, std::string("no thread: ") + why.what()});
  }
  return opened;
}

metrics_export::metrics_export(otlp_spec spec) : spec_(std::move(spec)) {}
metrics_export::~metrics_export() = default;

bool metrics_export::is_due(std::int64_t now) const {
  return (shown_at_ == 0 || now >= shown_at_ + spec_.every_ms * ns_per_ms) &&
         worker_->is_idle();
}

void metrics_export::show(std::int64_t now, run_view view) {
  shown_at_ = now;
  worker_->put(std::move(view));
}

void metrics_export::conclude(run_view last) {
  worker_->conclude(std::move(last));
}

std::optional<metrics_export::news> metrics_export::take_news() {
  return worker_->take_news();
}

runtime::expected<run_outlets> run_outlets::open(const cluster_file& file,
                                                 const page_maker& page) {
  auto monitor = run_monitor::open(file.spec, page);
  if (!monitor) return runtime::fail(monitor.error());
  auto metrics = metrics_export::open(file.otlp);
  if (!metrics) return runtime::fail(metrics.error());
  return run_outlets{.monitor = std::move(*monitor), .metrics = std::move(*metrics)};
}

}  // namespace tidegate::launch
