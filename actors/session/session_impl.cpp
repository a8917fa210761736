#include "actors/session/session_impl.hpp"

#include <chrono>
#include <cmath>
#include <utility>

#include "actors/control/session_presence.hpp"
#include "actors/session/not_finite.hpp"
#include "actors/session/traced_call.hpp"
#include "runtime/base/log.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::status;
using extent = policies::worker_core::extent;
using action = policies::session_step::action;

session_impl::~session_impl() {
  leave();
}

void session_impl::leave() {
  if (has_left_ || !is_of_this_process()) return;
  // Whoever goes without a word is noticed in any case.
  carry_out([&] { return shell_.leave(now()); }).result.ok();
  has_left_ = true;
  mirror_.reset();
  if (worker_) {
    self_->send_exit(worker_, caf::exit_reason::user_shutdown);
    self_->wait_for(worker_);
  }
  worker_ = nullptr;
  if (presence_) self_->send_exit(presence_, caf::exit_reason::user_shutdown);
  presence_ = nullptr;
  reactor_.reset();
  if (parts_.coordinator_watcher) self_->send(parts_.coordinator_watcher, stop_atom::value);
}

status session_impl::join() {
  auto started = reactor::start(*parts_.system, parts_.make_link, parts_.host);
  if (!started) return started.error();
  reactor_ = std::move(*started);
  reactor_->set_interrupt(parts_.interrupted);
  presence_ = spawn_session_presence(*parts_.system);
  const policies::worker_hello worker_hello{.job = parts_.environment.job,
                                            .rank = parts_.environment.rank,
                                            .incarnation = parts_.environment.incarnation,
                                            .address = reactor_->address()};
  auto joined = carry_out([&] { return shell_.join(now(), worker_hello); }).result;
  if (!joined.ok()) return joined;
  const auto& hello = shell_.core().hello();
  const auto& welcome = shell_.core().welcome();
  info_ = {.job = hello.job,
           .policy = welcome.policy,
           .reduce = welcome.reduce == policies::reduce_kind::mean ? "mean" : "sum",
           .rank = hello.rank,
           .workers = welcome.workers,
           .seed = welcome.seed,
           .incarnation = hello.incarnation};
  clock_ = welcome.first_clock;
  const auto watched = parts_.coordinator_watcher
                           ? parts_.coordinator_watcher
                           : caf::actor_cast<caf::actor>(parts_.coordinator->now());
  numbers_->set_shards(welcome.shard_addresses.size());
  worker_identity identity{.rank = hello.rank,
                           .incarnation = hello.incarnation,
                           .welcome = welcome,
                           .run = parts_.environment.node.token,
                           .job = hello.job,
                           .coordinator = parts_.coordinator,
                           .watched = watched,
                           .numbers = numbers_,
                           .state = state_};
  state_->resume(welcome.epoch, welcome.first_clock);
  worker_ = spawn_on<worker>(*reactor_, *parts_.system, std::move(identity));
  if (parts_.mirror)
    mirror_ = std::make_unique<runtime::mirror_listener>(
        parts_.mirror, [to = worker_](std::uint64_t number) {
          caf::anon_send(to, mirrored_atom::value, number);
        });
  return state_->is_used() ? begin_to_keep() : status();
}

std::int64_t session_impl::now() {
  if (!parts_.coordinator->may_come_back()) shell_.give_up_coordinator();
  return runtime::steady_now();
}

policies::session_step session_impl::take_turns(session_turn turn) {
  while (turn.step.kind != action::done) {
    if (turn.rest_ns) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(*turn.rest_ns));
      turn = shell_.rested(now());
      if (parts_.interrupted())
        turn = shell_.next(now(), interrupt_check::status_of(turn.doing), {});
      continue;
    }
    policies::session_answer answer;
    auto result = perform(turn, answer);
    turn = shell_.next(now(), std::move(result), std::move(answer));
  }
  return std::move(turn.step);
}

status session_impl::check_usable() const {
  if (!is_of_this_process()) return of_another_process();
  if (has_left_) return {errc::out_of_order, "the session has ended"};
  return {};
}

status session_impl::perform(const session_turn& turn, policies::session_answer& answer) {
  const auto token = parts_.environment.node.token;
  const auto& step = turn.step;
  switch (step.kind) {
    case action::ask_welcome:
      // The worker actor itself is made once we know the shards.
      return ask<policies::worker_welcome>(turn.doing, answer, worker_atom::value, token,
                                           shell_.core().hello(), presence_);
    case action::ask_grant:
      return ask<policies::table_grant>(turn.doing, answer, table_atom::value, token,
                                        step.request);
    case action::tell_opened:
      return ask<done_atom>(turn.doing, answer, opened_atom::value, token, info_.job,
                            info_.rank, step.tables);
    case action::tell_finished:
      // Asked again, it says the same.
      if (step.hashed && digest_.empty()) digest_ = hash_.finish();
      return ask<grants>(turn.doing, answer, finished_atom::value, token, info_.job, info_.rank,
                         numbers_now(), digest_);
    case action::tell_failed:
      return ask<done_atom>(turn.doing, answer, fail_atom::value, token,
                            shell_.core().hello().job, step.why);
    case action::tell_metric:
      return ask<done_atom>(turn.doing, answer, metric_atom::value, token, info_.job, step.why,
                            step.value);
    case action::attach:
      return attach(step.grant);
    case action::farewell:
      return command(worker_command::action::finish).wait();
    case action::pull_to_end: {
      if (rows_.has(step.grant.table)) return {};  // they are read as they are hashed
      worker_command pull;
      pull.kind = worker_command::action::pull;
      pull.table = step.grant.table;
      pull.extent = extent::to_the_end;
      return start(std::move(pull)).wait();
    }
    case action::hash:
      if (rows_.has(step.grant.table)) return rows_.add_to(hash_, step.grant.table);
      for (const auto& part : memories_.at(step.grant.table)->stretches())
        hash_.update(std::as_bytes(part.values));
      return {};
    case action::done:
      break;
  }
  return {};
}

pending session_impl::start(worker_command command) {
  if (auto usable = check_usable(); !usable.ok()) return failed(std::move(usable));
  auto shared = std::make_shared<worker_command>(std::move(command));
  if (!shared->done) shared->done = std::make_shared<pending_state>();
  // Where one clock is in flight, what a pull waits for may wait for an acknowledgement.
  shared->done->patient = (shared->kind == worker_command::action::pull ||
                           shared->kind == worker_command::action::call ||
                           shared->kind == worker_command::action::pull_rows ||
                           shared->kind == worker_command::action::exchange) &&
                          !shell_.core().welcome().one_clock_in_flight;
  shared->done->home = reactor_.get();
  pending result(shared->done);
  auto span = span_of(*shared, shell_.core().welcome().token, clock_, runtime::record_now());
  span.extra = numbers_->staleness_latest.load(std::memory_order_relaxed);
  reactor::inline_driver driver(*reactor_);
  caf::anon_send(worker_, worker_command_ptr(std::move(shared)));
  driver.turn();  // what the command sends is sent when this returns
  span.end_ns = runtime::record_now();
  call_ns_ +=
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, span.end_ns - span.begin_ns));
  if (auto* recorder = reactor_->recorder()) recorder->add(span);
  return result;
}

pending session_impl::push(const table& where, const pushed_memory& from) {
  device_.end_parameters(where.id);
  worker_command command;
  command.kind = worker_command::action::push;
  command.table = where.id;
  command.gradient = from.own;
  command.device_memory = const_cast<float*>(from.on_device);
  command.half = half();
  command.rate = rate_;
  command.checks = from.checks;
  command.done = push_state();
  return start(std::move(command));
}

pending session_impl::pull(const table& where, std::span<float> parameters,
                           policies::worker_core::extent wanted) {
  if (auto checked = check(where, parameters.size(), "pull"); !checked.ok())
    return failed(std::move(checked));
  return pull(where, parameters.data(), wanted);
}

pending session_impl::pull(const table& where, float* into,
                           policies::worker_core::extent wanted) {
  device_.end_parameters(where.id);
  worker_command command;
  command.kind = worker_command::action::pull;
  command.table = where.id;
  command.parameters = into;
  command.extent = wanted;
  return start(std::move(command));
}

pending session_impl::command(worker_command::action kind) {
  worker_command command;
  command.kind = kind;
  return start(std::move(command));
}

expected<table> session_impl::open(const policies::table_request& request) {
  const auto opened = carry_out([&] { return shell_.open(now(), request); });
  if (!opened.result.ok()) return runtime::fail(opened.result);
  return table{opened.grant.table, opened.grant.elements};
}

status session_impl::attach(const policies::table_grant& grant) {
  worker_command command;
  command.kind = worker_command::action::open;
  command.grant = grant;
  if (shell_.core().welcome().aggregated)
    for (auto& place : command.grant.places) place.shard = 0;
  command.rows = rows_.attach(grant);
  if (!command.rows) {
    auto& memory = memories_[grant.table];
    if (!memory) {
      auto result = table_memory::make(gradients_, mappings_, command.grant.places);
      if (!result) return result.error();
      memory = std::move(*result);
    }
    command.memory = memory;
  }
  const bool is_new = shell_.core().table(grant.table) == nullptr && !command.rows;
  const auto addresses = is_new ? device_.new_addresses() : nullptr;
  command.addresses = addresses;
  auto outcome = start(std::move(command)).wait();
  if (outcome.ok() && addresses) device_.added(grant.table, addresses);
  return outcome;
}

// One array; copied together when shards keep its chunks in different version buffers.
std::span<const float> session_impl::parameters(const table& where) {
  const auto at = memories_.find(where.id);
  if (at == memories_.end() || device_.has(where)) return {};
  const auto found = at->second->stretches();
  if (found.empty()) return {};
  if (const auto* array = at->second->array()) return {array, where.size};
  if (found.size() == 1 && found[0].values.size() == where.size) return found[0].values;
  auto& whole = gathered_[where.id];
  if (std::exchange(whole.number, at->second->number()) != at->second->number()) {
    whole.values.resize(where.size);
    numbers_->payload_bytes_copied.fetch_add(at->second->gather(whole.values),
                                             std::memory_order_relaxed);
  }
  return whole.values;
}

// After a failure both halves may still be read: what is written then goes nowhere.
std::span<float> session_impl::gradient(const table& where) {
  const auto at = memories_.find(where.id);
  if (at == memories_.end() || device_.has(where)) return {};
  if (room().ok()) return at->second->gradient(half());
  auto& nowhere = nowhere_[where.id];
  nowhere.resize(where.size);
  return nowhere;
}

status session_impl::check(const table& where, std::size_t elements, const char* doing) const {
  const auto* known = shell_.core().table(where.id);
  if (known == nullptr)
    return {errc::not_found, std::string(doing) + " of a table that this session did not open"};
  if (elements != known->elements)
    return {errc::invalid_argument, std::string(doing) + " of table '" + known->name +
                                        "' with " + std::to_string(elements) +
                                        " elements; it has " + std::to_string(known->elements)};
  return {};
}

status session_impl::check_finite(const table& where, std::span<const float> gradient,
                                  std::uint64_t first) const {
  if (!checks_finite()) return {};
  const auto at = runtime::kernels::first_not_finite(gradient.data(), gradient.size());
  if (at == gradient.size()) return {};
  return refuse_not_finite({.table = shell_.core().table(where.id)->name,
                            .value = std::isnan(gradient[at]) ? "NaN" : "infinity",
                            .element = first + at,
                            .rank = info_.rank,
                            .clock = clock_});
}

status session_impl::tell_metric(const std::string& name, double value) {
  return carry_out([&] { return shell_.tell_metric(now(), name, value); }).result;
}

status session_impl::end_clocks() {
  return carry_out([&] { return shell_.end_clocks(now()); }).result;
}

status session_impl::finish() {
  return carry_out([&] { return shell_.finish(now()); }).result;
}

status session_impl::fail(const status& why) {
  runtime::log::error(session_shell::text_of_failure(info_.rank, why));
  report_now(true);  // how far it came: what was told last may be some clocks old
  return carry_out([&] { return shell_.fail(now(), why); }).result;
}

// What is acknowledged may lie there unread.
template <class Done>
void session_impl::look_until(const Done& done) {
  if (done()) return;
  reactor::inline_driver driver(*reactor_);
  while (!done() && driver.turn()) continue;
}

status session_impl::room() {
  if (auto usable = check_usable(); !usable.ok()) return usable;
  const auto is_there = [&] {
    return clock_ < numbers_->room_below.load(std::memory_order_acquire);
  };
  look_until(is_there);
  if (is_there()) return {};
  // A wait for it that was interrupted goes on here.
  if (!room_) room_ = command(worker_command::action::room);
  const auto waited = reactor_->waited_ns();
  auto outcome = wait(*room_);
  credit_ns_ += reactor_->waited_ns() - waited;
  if (!interrupted_) room_.reset();
  return outcome;
}

status session_impl::wait(const pending& operation) {
  auto outcome = operation.wait();
  interrupted_ = !operation.ready();
  // It may have ended just as the wait was interrupted.
  return interrupted_ ? outcome : operation.wait();
}

// A pull waits for no credit where it may: the next clock's parameters come while a replica
// makes the step of this one. Whoever pushes its own memory may have two of them, in turn, and
// no pending.
status session_impl::move_on(const pending& ending) {
  auto outcome = wait(ending);
  lost_count_ = interrupted_;
  if (!outcome.ok()) return outcome;
  ++clock_;
  if (shell_.core().welcome().one_clock_in_flight || pushes_own_memory_) {
    outcome = room();
    lost_count_ = interrupted_;
    if (!outcome.ok()) return outcome;
  }
  report_now(false);
  return {};
}

// The acknowledgement of the clock before may have come since anybody last looked.
// With room.
std::uint32_t session_impl::half() {
  const auto is_free = [&] {
    return numbers_->pushes_under_way.load(std::memory_order_acquire) == 0;
  };
  if (!half_.is_decided(clock_)) look_until(is_free);
  return half_.at(clock_, !is_free());
}

}  // namespace tidegate::actors
