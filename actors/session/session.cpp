#include <cmath>
#include <utility>

#include "actors/control/system.hpp"
#include "actors/environment/environment.hpp"
#include "actors/environment/own_link.hpp"
#include "actors/session/optimizers.hpp"
#include "actors/session/session_impl.hpp"
#include "policies/model/option_rules.hpp"
#include "policies/protocol/handshake.hpp"
#include "runtime/base/launch_variables.hpp"
#include "runtime/base/log.hpp"
#include "runtime/process/garbage_time.hpp"
#include "runtime/process/spare.hpp"
#include "runtime/recorder/span_recorder.hpp"
#include <tidegate/session.hpp>

namespace tidegate::actors {

expected<session> join(session_parts parts) {
  auto insides = std::make_unique<session_impl>(std::move(parts));
  if (auto joined = insides->join(); !joined.ok()) return runtime::fail(std::move(joined));
  return session(std::move(insides));
}

namespace {

// The parts of a worker process, from its environment.
expected<session_parts> parts_of_process(interrupt_check interrupted) {
  auto environment = read_worker_environment();
  if (!environment) return runtime::fail(environment.error());
  runtime::log::start("worker-" + environment->job + "-" + std::to_string(environment->rank));
  session_parts parts;
  parts.beats = runtime::heartbeat::of_process(environment->node.token);
  runtime::span_recorder::begin(environment->node.token);
  parts.state = runtime::state_file::of_process(environment->node.token);
  auto mirror = runtime::mirror_line::of_process();
  if (mirror)
    parts.mirror = *mirror;
  else
    parts.state = runtime::fail(mirror.error());
  auto process =
      std::make_shared<process_system>(environment->node.token, environment->node.encrypt);
  environment->node.token = policies::message_token(environment->node.token);
  auto coordinator = std::make_shared<coordinator_locator>(process->control(),
                                                           environment->node.coordinator_host,
                                                           environment->node.coordinator_port);
  const auto give_up_ms = environment->node.start_timeout_ms;
  if (auto found = coordinator->find_unless(interrupted, give_up_ms); !found)
    return runtime::fail(found.error());
  parts.system = &process->get();
  parts.keep = std::move(process);
  parts.coordinator_watcher = spawn_coordinator_watcher(*parts.system, coordinator, give_up_ms);
  parts.coordinator = std::move(coordinator);
  parts.make_link = make_own_link;
  parts.host = shared_host();
  parts.environment = std::move(*environment);
  parts.interrupted = std::move(interrupted);
  return parts;
}

}  // namespace

}  // namespace tidegate::actors

namespace tidegate {

using actors::failed;
using actors::session_impl;
using actors::worker_command;
using policies::worker_core;

session::session(std::unique_ptr<session_impl> self) noexcept : impl_(std::move(self)) {}
session::session(session&&) noexcept = default;
session& session::operator=(session&& other) noexcept {
  const session former(std::move(*this));
  impl_ = std::move(other.impl_);
  return *this;
}
session::~session() {
  // In a forked process its threads are missing, and its connections are the other process's.
  if (impl_ && !impl_->is_of_this_process()) static_cast<void>(impl_.release());
}

status await_place(const place_options& options) {
  return runtime::await_place(
      {.interrupted = options.interrupted, .may_copy = options.may_copy, .fork = options.fork});
}

std::vector<std::pair<std::string, std::string>> place_variables() {
  const auto& taken = runtime::taken_launch_variables();
  return {taken.begin(), taken.end()};
}

expected<session> session::connect(std::function<bool()> interrupted) {
  if (auto placed = tidegate::await_place({.interrupted = interrupted}); !placed.ok())
    return tidegate::fail(std::move(placed));
  auto parts = actors::parts_of_process(actors::interrupt_check(std::move(interrupted)));
  if (!parts) return tidegate::fail(parts.error());
  return actors::join(std::move(*parts));
}

const job_info& session::info() const noexcept {
  return impl_->info_;
}
std::uint64_t session::now() const noexcept {
  impl_->shell_.core().clock_asked();
  return impl_->clock_;
}

expected<table> session::open_table(std::string_view name, std::vector<std::uint64_t> shape) {
  policies::table_request request;
  request.job = impl_->info_.job;
  request.spec.name = name;
  request.spec.shape = std::move(shape);
  return impl_->open(request);
}

expected<table> session::open_table(std::string_view name, std::vector<std::uint64_t> shape,
                                    const table_options& options) {
  policies::table_request request;
  request.job = impl_->info_.job;
  request.spec.name = name;
  request.spec.shape = std::move(shape);
  request.options_given = true;
  request.optimizer_given = !options.optimizer.name.empty();
  auto optimizer = actors::to_spec(options.optimizer, request.spec.name);
  if (!optimizer) return runtime::fail(optimizer.error());
  request.spec.optimizer = *optimizer;
  const auto init = policies::checked_init({.uniform = options.init_uniform,
                                            .constant = options.init_constant,
                                            .pushed = options.init_pushed},
                                           request.spec.name);
  if (!init) return runtime::fail(init.error());
  request.spec.init = *init;
  return impl_->open(request);
}

expected<row_table> session::open_rows(std::string_view name, std::uint32_t dim,
                                       const std::optional<row_table_options>& options) {
  return impl_->rows_.open(name, dim, options);
}

pending session::push(const table& where, std::span<const float> gradient) {
  return push_from(where, gradient, gradient.data());
}

pending session::pull(const table& where, std::span<float> parameters) {
  return impl_->pull(where, parameters, worker_core::extent::as_policy);
}

pending session::pull_final(const table& where, std::span<float> parameters) {
  return impl_->pull(where, parameters, worker_core::extent::final_barrier);
}

pending session::push(const table& where, std::span<const element_range> ranges) {
  return impl_->ranges_.push(where, ranges, {});
}

pending session::push(const table& where, std::span<const element_range> ranges,
                      std::span<const float> values) {
  return impl_->ranges_.push(where, ranges, values);
}

expected<std::vector<double>> session::call(const table& where, std::string_view function,
                                            std::span<const double> arguments) {
  return impl_->functions_.call(where, function, arguments);
}

pending session::pull(const table& where, std::span<const element_range> ranges) {
  return impl_->ranges_.pull(where, ranges, {});
}

pending session::pull(const table& where, std::span<const element_range> ranges,
                      std::span<float> values) {
  return impl_->ranges_.pull(where, ranges, values);
}

status session::use_device(const session_device& wanted) {
  return impl_->device_.use(wanted);
}

expected<device_span> session::device_gradient(const table& where) {
  return impl_->device_.gradient(where);
}

const_device_span session::device_parameters(const table& where) const {
  return impl_->device_.parameters(where);
}

pending session::push(const table& where, const_device_span gradient) {
  if (auto checked = impl_->device_.check(where, gradient.size, "push"); !checked.ok())
    return failed(std::move(checked));
  if (auto outcome = impl_->before_moving(); !outcome.ok()) return failed(std::move(outcome));
  return impl_->push(where, {.on_device = gradient.data, .checks = impl_->checks_finite()});
}

pending session::pull(const table& where, device_span parameters) {
  if (auto checked = impl_->device_.check(where, parameters.size, "pull"); !checked.ok())
    return failed(std::move(checked));
  return impl_->device_.pull(where, parameters.data, worker_core::extent::as_policy);
}

pending session::pull_final(const table& where, device_span parameters) {
  if (auto checked = impl_->device_.check(where, parameters.size, "pull"); !checked.ok())
    return failed(std::move(checked));
  return impl_->device_.pull(where, parameters.data, worker_core::extent::final_barrier);
}

status session::copy(device_span to, std::span<const float> from) {
  return impl_->device_.copy(to, from);
}

status session::copy(std::span<float> to, const_device_span from) {
  return impl_->device_.copy(to, from);
}

std::span<float> session::gradient(const table& where) {
  return impl_->gradient(where);
}

std::span<const float> session::parameters(const table& where) const {
  return impl_->parameters(where);
}

std::span<const stretch> session::parameter_stretches(const table& where) const {
  const auto at = impl_->memories_.find(where.id);
  if (at == impl_->memories_.end() || impl_->device_.has(where)) return {};
  return at->second->stretches();
}

pending session::push(const table& where) {
  if (impl_->device_.has(where)) return push_on_device(where);
  return push_from(where, gradient(where), nullptr);
}

pending session::push_on_device(const table& where) {
  if (auto outcome = impl_->before_moving(); !outcome.ok()) return failed(std::move(outcome));
  return impl_->push(where, {.checks = impl_->checks_finite()});
}

pending session::push_from(const table& where, std::span<const float> gradient,
                           const float* from) {
  if (auto checked = impl_->check(where, gradient.size(), "push"); !checked.ok())
    return failed(std::move(checked));
  if (auto outcome = impl_->before_moving(); !outcome.ok()) return failed(std::move(outcome));
  if (auto finite = impl_->check_finite(where, gradient); !finite.ok())
    return failed(std::move(finite));
  impl_->pushes_own_memory_ |= from != nullptr;
  return impl_->push(where, {.own = from});
}

pending session::pull(const table& where) {
  if (auto checked = impl_->check(where, where.size, "pull"); !checked.ok())
    return failed(std::move(checked));
  return impl_->pull(where, nullptr, worker_core::extent::as_policy);
}

pending session::pull_final(const table& where) {
  if (auto checked = impl_->check(where, where.size, "pull"); !checked.ok())
    return failed(std::move(checked));
  return impl_->pull(where, nullptr, worker_core::extent::final_barrier);
}

status session::exchange(std::span<const table> tables) {
  if (auto outcome = impl_->before_moving(); !outcome.ok()) return outcome;
  worker_command command;
  command.kind = worker_command::action::exchange;
  for (const auto& where : tables) {
    if (auto checked = impl_->check(where, where.size, "exchange"); !checked.ok())
      return checked;
    command.tables.push_back(where.id);
    if (impl_->device_.has(where)) {
      impl_->device_.end_parameters(where.id);
      command.checks = impl_->checks_finite();
      continue;
    }
    if (auto finite = impl_->check_finite(where, gradient(where)); !finite.ok()) return finite;
  }
  command.half = impl_->half();
  command.rate = impl_->rate_;
  return impl_->move_on(impl_->start(std::move(command)));
}

status session::clock() {
  if (auto outcome = impl_->before_moving(); !outcome.ok()) return outcome;
  return impl_->move_on(impl_->command(worker_command::action::clock));
}

status session::scale_learning_rate(float factor) {
  if (auto usable = impl_->check_usable(); !usable.ok()) return usable;
  if (!std::isfinite(factor) || factor < 0)
    return {errc::invalid_argument, "the learning rate cannot be multiplied by " +
                                        std::to_string(factor) +
                                        "; allowed: a finite number >= 0"};
  impl_->rate_ = factor;
  return {};
}

worker_state session::state() const noexcept {
  return worker_state(*impl_);
}

void session::report(const progress& now) {
  impl_->progress_ = now;
  impl_->report_now(false);
}

void session::report_metric(std::string_view name, double value) {
  const std::string metric(name);
  if (auto outcome = impl_->tell_metric(metric, value); !outcome.ok())
    runtime::log::warn(outcome.to_string());
}

status session::end_clocks() {
  return impl_->end_clocks();
}

status session::finish() {
  return impl_->finish();
}

void session::leave() {
  impl_->leave();
}

void session::fail(const status& why) {
  if (auto outcome = impl_->fail(why); !outcome.ok()) runtime::log::warn(outcome.to_string());
}

void note_garbage(std::chrono::nanoseconds lasted) noexcept {
  if (lasted.count() > 0) runtime::add_garbage_ns(static_cast<std::uint64_t>(lasted.count()));
}

}  // namespace tidegate
