// The state that a session keeps: what the program sets and reads, and the push that leaves
// when the state of its clock is committed. And what it tells of how it goes on.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "actors/session/session_impl.hpp"
#include "runtime/process/garbage_time.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::status;

status session_impl::may_keep() const {
  if (auto usable = check_usable(); !usable.ok()) return usable;
  return state_->usable();
}

status session_impl::begin_to_keep() {
  if (keeps_) return {};
  auto begun = command(worker_command::action::keep_state).wait();
  keeps_ = begun.ok();
  if (begun.code() != errc::out_of_order) return begun;
  return {errc::out_of_order,
          "a push of clock " + std::to_string(clock_) +
              " has left, and with it the state of the next clock, which is empty: keep "
              "something before the first push of a clock"};
}

status session_impl::keep(std::string_view name, std::span<const std::byte> bytes) {
  if (auto usable = may_keep(); !usable.ok()) return usable;
  if (auto begun = begin_to_keep(); !begun.ok()) return begun;
  return state_->keep(name, bytes, clock_);
}

status session_impl::forget(std::string_view name) {
  if (auto usable = may_keep(); !usable.ok()) return usable;
  return state_->forget(name, clock_);
}

status session_impl::forget_all() {
  if (auto usable = check_usable(); !usable.ok()) return usable;
  if (!keeps_ && !state_->is_lost()) return may_keep();
  if (auto begun = begin_to_keep(); !begun.ok()) return begun;
  return state_->clear(clock_);
}

status session_impl::use_older_state() {
  if (auto usable = check_usable(); !usable.ok()) return usable;
  if (state_->older_clock())
    if (auto begun = begin_to_keep(); !begun.ok()) return begun;
  return state_->use_older(clock_);
}

expected<std::span<const std::byte>> session_impl::kept(std::string_view name) const {
  if (auto usable = may_keep(); !usable.ok()) return runtime::fail(std::move(usable));
  if (const auto bytes = state_->kept(name)) return *bytes;
  return runtime::fail(errc::not_found,
                       "this worker keeps nothing under '" + std::string(name) + "'");
}

pending_ptr session_impl::push_state() {
  auto state = std::make_shared<pending_state>();
  state->push = this;
  state->clock = clock_;
  return state;
}

// Whoever waits for a push of this clock may wait for one that waits for the push held back:
// of another worker, which waits for ours.
void session_impl::release(std::uint64_t clock) {
  if (keeps_ && clock == clock_ && check_usable().ok())
    static_cast<void>(command(worker_command::action::release).wait().ok());
}

policies::worker_progress session_impl::numbers_now() {
  auto times = times_now();
  times.pressure = pressure_now();
  return {.clock = clock_,
          .clocks_total = progress_.clocks_total,
          .epoch = progress_.epoch,
          .loss = progress_.loss,
          .samples = progress_.samples,
          .staleness_max = numbers_->staleness_max.load(),
          .staleness = {numbers_->staleness.begin(), numbers_->staleness.end()},
          .payload_bytes_copied = numbers_->payload_bytes_copied.load(),
          .times = times,
          .answers = numbers_->answers_now()};
}

policies::worker_times session_impl::times_now() const {
  if (moves_since_ == 0) return {};
  const auto elapsed = runtime::record_now() - moves_since_;
  return {.elapsed_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, elapsed)),
          .call_ns = call_ns_,
          .wait_ns = reactor_->waited_ns() - waited_before_ns_,
          .credit_ns = credit_ns_,
          .garbage_ns = runtime::garbage_ns_of_process() - garbage_before_ns_};
}

policies::process_pressure session_impl::pressure_now() {
  const auto starved = runtime::starved_ns_of_thread().value_or(0);
  const auto me = std::this_thread::get_id();
  if (std::exchange(starved_thread_, me) == me)
    starved_ns_ += starved - std::min(starved_at_, starved);
  starved_at_ = starved;
  return {.stopped_ns = stalls_->stopped_ns(),
          .starved_ns = starved_ns_,
          .disk_faults = runtime::disk_faults_of_process(),
          .memory_ns = runtime::memory_stalls_ns_of_host()};
}

status session_impl::before_moving() {
  if (lost_count_)
    return {errc::out_of_order, "a wait for the end of clock " + std::to_string(clock_) +
                                    " was interrupted; the session can only end now"};
  auto outcome = carry_out([&] { return shell_.before_moving(now()); }).result;
  if (!outcome.ok()) return outcome;
  if (moves_since_ == 0) {
    moves_since_ = runtime::record_now();
    waited_before_ns_ = reactor_->waited_ns();
    garbage_before_ns_ = runtime::garbage_ns_of_process();
    call_ns_ = credit_ns_ = 0;
  }
  if (slow_.is_on())
    if (auto paused = compute_longer(); !paused.ok()) return paused;
  return room();
}

status session_impl::compute_longer() {
  const auto computed_ns = [this] {
    const auto times = times_now();
    return times.elapsed_ns - std::min(times.elapsed_ns, times.call_ns + times.wait_ns);
  };
  const auto until =
      runtime::steady_now() + static_cast<std::int64_t>(slow_.pause_ns(clock_, computed_ns()));
  for (auto left = until - runtime::steady_now(); left > 0;
       left = until - runtime::steady_now()) {
    if (parts_.interrupted()) {
      slow_.went_on(computed_ns());
      return interrupt_check::status_of("pausing");
    }
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(
        std::chrono::nanoseconds(left), interrupt_check::interval));
  }
  slow_.went_on(computed_ns());
  return {};
}

void session_impl::report_now(bool even_if_recent) {
  if (!check_usable().ok() || !shell_.report_is_due(now(), even_if_recent)) return;
  self_->send(parts_.coordinator->now(), progress_atom::value, parts_.environment.node.token,
              info_.job, info_.rank, numbers_now());
}

}  // namespace tidegate::actors

namespace tidegate {

status worker_state::keep(std::string_view name, std::span<const std::byte> bytes) {
  return of_->keep(name, bytes);
}

expected<std::span<const std::byte>> worker_state::kept(std::string_view name) const {
  of_->shell_.core().clock_asked();  // what it keeps is of that clock
  return of_->kept(name);
}

expected<std::vector<std::string>> worker_state::names() const {
  of_->shell_.core().clock_asked();
  if (auto usable = of_->may_keep(); !usable.ok()) return tidegate::fail(std::move(usable));
  return of_->state_->names();
}

status worker_state::forget(std::string_view name) {
  return of_->forget(name);
}

status worker_state::forget_all() {
  return of_->forget_all();
}

bool worker_state::is_lost() const {
  return of_->state_->is_lost();
}

std::optional<std::uint64_t> worker_state::older() const {
  return of_->state_->older_clock();
}

status worker_state::use_older() {
  return of_->use_older_state();
}

}  // namespace tidegate
