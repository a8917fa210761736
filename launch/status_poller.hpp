// Asks the coordinator for its status from a thread of its own, so that a coordinator that
// hangs does not keep the launcher from ending the run in time. All calls from one thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "launch/services.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

// What the poller has found out.
struct poll_news {
  bool connected = false;
  bool gave_up = false;             // no connection within the start timeout; `health` says why
  runtime::status health;           // of the last attempt
  std::uint64_t answered = 0;       // the latest poll_now() that this status comes after
  policies::cluster_status status;  // the latest; its events: those since the last take()
  // To questions, by the number that ask() gave. Since the last take().
  std::vector<std::pair<std::uint64_t, runtime::status>> answers;
};

class status_poller {
 public:
  using job_failures = std::vector<std::pair<std::string, std::string>>;  // job, why
  using observe_function = std::function<runtime::expected<std::unique_ptr<cluster_view>>(
      const actors::node_options&)>;

  // Starts at once: connects (again and again, until the start timeout), then polls every
  // interval.
  status_poller(observe_function observe, const actors::node_options& options,
                std::uint32_t interval_ms);
  // Joins the thread: takes as long as the view's call under way.
  ~status_poller();

  int fd() const noexcept { return wake_.get(); }  // readable when take() has news
  poll_news take();
  // Polls without delay; poll_news::answered tells when. Counts from 1.
  std::uint64_t poll_now();
  // Asks the coordinator, on this poller's thread, again until it answers.
  using question = std::function<runtime::status(cluster_view&)>;
  std::uint64_t ask(question what);
  // Polls once more, fails these jobs, tells the cluster to stop, and ends the thread. Returns
  // at once.
  void finish(job_failures failures);

 private:
  void run();
  bool connect();
  void poll_once();
  void ask_questions();
  void carry_out_finish();
  void publish(const std::function<void(poll_news&)>& change);
  void wait_a_while(bool until_requested);  // an interval, or less

  observe_function observe_;
  actors::node_options options_;
  std::uint32_t interval_ms_;
  runtime::unique_fd wake_;
  std::unique_ptr<cluster_view> view_;  // the thread's
  std::uint64_t events_seen_ = 0;       // the thread's
  std::uint32_t life_ = 0;              // of the coordinator that counts them; the thread's

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  poll_news news_;
  std::uint64_t requests_ = 0;
  bool finishing_ = false;
  job_failures failures_;
  std::vector<std::pair<std::uint64_t, question>> questions_;
  std::uint64_t last_question_ = 0;
  bool has_new_question_ = false;  // that nobody has tried to ask yet
  std::thread thread_;             // last: it uses all of the above
};

}  // namespace tidegate::launch
