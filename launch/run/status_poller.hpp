// Talks to the coordinator (launch/shell/poll_shell.hpp) on a thread of its own, so that a
// coordinator that hangs does not keep the launcher from ending the run in time. All calls from
// one thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "launch/run/services.hpp"
#include "launch/shell/poll_shell.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

class status_poller {
 public:
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
  std::uint64_t ask(question item);
  // Polls once more, fails these jobs, tells the cluster to stop, and ends the thread. Returns
  // at once.
  void finish(poll_shell::job_failures failures);

 private:
  void run();
  runtime::status perform(const poll_step& step, policies::cluster_status& status);
  runtime::status connect();
  runtime::status ask_question(std::uint64_t number);
  void rest(std::int64_t pause_ns);

  observe_function observe_;
  actors::node_options options_;
  runtime::unique_fd wake_;
  std::unique_ptr<cluster_view> view_;  // the thread's

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  poll_shell shell_;
  std::map<std::uint64_t, question> questions_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tidegate::launch
