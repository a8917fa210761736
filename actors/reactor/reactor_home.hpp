// A reactor, as the shells that live on it see it. The timer is the actor's.
#pragma once

#include <string>

#include "actors/environment/environment.hpp"
#include "actors/reactor/peer_address.hpp"
#include "actors/reactor/reactor.hpp"
#include "actors/seam/shell_home.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/record_clock.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/process/process_stat.hpp"
#include "runtime/process/stall_watch.hpp"

namespace tidegate::actors {

class reactor_home : public shell_home {
 public:
  explicit reactor_home(reactor& on) : reactor_(on) {}

  void log(severity level, const std::string& line) override {
    if (level == severity::info) return runtime::log::info(line);
    level == severity::warning ? runtime::log::warn(line) : runtime::log::error(line);
  }
  runtime::link& link() noexcept override { return reactor_.link(); }
  std::int64_t now() const override { return runtime::steady_now(); }
  std::int64_t record_now() const override { return runtime::record_now(); }
  policies::process_pressure pressure() const override {
    return {.stopped_ns = reactor_.stopped_ns(),
            .starved_ns = runtime::starved_ns_of_thread().value_or(0),
            .disk_faults = runtime::disk_faults_of_process(),
            .memory_ns = runtime::memory_stalls_ns_of_host()};
  }
  std::int64_t waited_by(std::int64_t now) const override { return reactor_.waited_by(now); }
  std::uint64_t resident_bytes() const override { return runtime::resident_bytes_of_process(); }
  bool records() const noexcept override { return reactor_.recorder() != nullptr; }
  void record(const runtime::trace_span& span) noexcept override {
    if (auto* recorder = reactor_.recorder()) recorder->add(span);
  }
  const shell_limits& limits() const noexcept override {
    static const auto limits = limits_of_cluster();
    return limits;
  }
  const runtime::function_library& functions() const override { return functions_of_process(); }
  const std::string& address() const noexcept override { return reactor_.address(); }
  runtime::expected<runtime::peer_id> connect(const std::string& address) override {
    return reactor_.connect(address);
  }
  bool shares_memory_with(const std::string& address) const override {
    return share_memory(reactor_.address(), address);
  }
  runtime::status fence(const std::string& replaced) override {
    return actors::fence(reactor_.address(), replaced);
  }
  void break_link() override { reactor_.close_link(0); }
  void after_progress(continuation& work) override { reactor_.after_progress(work); }
  void before_progress(continuation& work) override { reactor_.before_progress(work); }
  void forget(const continuation& work) override { reactor_.forget(work); }
  void run_in_background(bool on) override { reactor_.run_in_background(on); }

 private:
  reactor& reactor_;
};

}  // namespace tidegate::actors
