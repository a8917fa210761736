// The insides of a session, shared by the sources that implement it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/client.hpp"
#include "actors/errors.hpp"
#include "actors/reactor_actor.hpp"
#include "actors/session_core.hpp"
#include "actors/table_memory.hpp"
#include "actors/worker.hpp"
#include "policies/gradient_half.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::actors {

inline constexpr auto answer_timeout = std::chrono::seconds(30);

class session::impl {
 public:
  explicit impl(session_parts parts) : parts_(std::move(parts)), self_(*parts_.system) {}
  ~impl();

  runtime::status join();
  runtime::expected<table> open(const policies::table_request& request);
  pending start(worker_command command);
  runtime::status start_table(const policies::table_grant& grant);
  pending pull(const table& where, std::span<float> parameters,
               policies::worker_core::extent what);
  pending pull(const table& where, float* into,
               policies::worker_core::extent what);  // null: in place
  runtime::status finish();
  std::span<const float> parameters(const table& where);
  // Where this clock's gradients are written.
  std::uint32_t half() {
    return half_.at(clock_, numbers_->pushes_under_way.load(std::memory_order_acquire) > 0);
  }
  void report_now(bool even_if_recent);
  runtime::status declare_tables();
  runtime::status tell_failure(const std::string& why);
  runtime::status check(const table& where, std::size_t elements, const char* doing) const;
  runtime::status check_finite(const table& where, std::span<const float> gradient) const;
  static session wrap(std::unique_ptr<impl> self) { return session(std::move(self)); }

  template <class T, class... Ts>
  runtime::expected<T> ask(const std::string& doing, const Ts&... xs);

  session_parts parts_;
  runtime::arena gradients_{"tidegate-gradients", runtime::limits::clocks_in_flight_max};
  std::map<std::uint32_t, std::shared_ptr<table_memory>> memories_;
  std::map<std::uint32_t, std::vector<float>> gathered_;  // of tables in several stretches
  caf::scoped_actor self_;
  std::unique_ptr<reactor> reactor_;
  worker_actor worker_;
  std::shared_ptr<worker_numbers> numbers_ = std::make_shared<worker_numbers>();
  job_info info_;
  policies::not_finite_rule not_finite_ = policies::not_finite_rule::refuse;
  std::map<std::uint32_t, policies::table_grant> tables_;
  std::uint64_t clock_ = 0;
  policies::gradient_half half_;
  progress progress_;
  std::chrono::steady_clock::time_point reported_{};
  bool aggregated_ = false;  // one aggregator stands for all shards
  bool declared_ = false;
  bool ended_ = false;

 private:
  runtime::expected<std::string> hash_parameters();
  policies::worker_progress numbers_now() const;
};

template <class T, class... Ts>
runtime::expected<T> session::impl::ask(const std::string& doing, const Ts&... xs) {
  runtime::expected<T> result = runtime::fail(runtime::errc::unavailable, doing);
  self_->request(parts_.coordinator, answer_timeout, xs...)
      .receive([&](T& value) { result = std::move(value); },
               [&](caf::error& why) { result = runtime::fail(to_status(why, doing)); });
  return result;
}

}  // namespace tidegate::actors
