#include "actors/session/device_commands.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::actors {

using command_action = worker_command::action;
using runtime::status;

void device_commands::push(held next) {
  if (!closed_.ok()) return refuse(next, closed_);
  held_.push(std::move(next));
  begin_next();
  look_again();
}

void device_commands::hold(const worker_command_ptr& item, bool checks) {
  held next{.item = item, .work = {}, .call = {}, .checks = checks, .after = {}};
  const auto mark = tables_->after_program();
  if (!mark) {
    refuse(next, mark.error());
    return owner_.device_failed(mark.error());
  }
  next.after.push_back(*mark);
  push(std::move(next));
}

void device_commands::hold(queued_work work, next_call call) {
  push({.item = {}, .work = std::move(work), .call = std::move(call), .after = {}});
}

status device_commands::set_stream(std::uintptr_t handle) {
  const auto before = tables_->after_program();
  if (!before) return before.error();
  if (auto set = tables_->set_stream(handle); !set.ok()) return set;
  hold([mark = *before] { return std::vector{mark}; }, [](const status&) {});
  return {};
}

void device_commands::complete(const worker_command_ptr& item,
                               std::vector<device_tables::mark> after) {
  if (!closed_.ok()) return owner_.refuse(item, closed_);
  ending_.push_back({.item = item, .after = std::move(after)});
  look_again();
}

void device_commands::close(const status& why) {
  if (!closed_.ok()) return;
  closed_ = why;
  home_.forget(*this);
  for (auto& next : std::exchange(ending_, {})) owner_.refuse(next.item, why);
  auto held = std::exchange(held_, {});
  for (auto& next : held.items()) refuse(next, why);
}

void device_commands::refuse(const held& next, const status& why) {
  if (next.call)
    next.call(why);
  else
    owner_.refuse(next.item, why);
}

bool device_commands::are_over(std::vector<device_tables::mark>& marks) {
  while (!marks.empty() && tables_->is_over(marks.back())) marks.pop_back();
  return marks.empty();
}

std::vector<std::uint32_t> device_commands::pushed_tables(const worker_command& command) const {
  std::vector<std::uint32_t> tables;
  if (command.kind == command_action::push && tables_->has(command.table))
    tables.push_back(command.table);
  if (command.kind == command_action::exchange)
    std::copy_if(command.tables.begin(), command.tables.end(), std::back_inserter(tables),
                 [&](std::uint32_t table) { return tables_->has(table); });
  return tables;
}

bool device_commands::is_in_order(const std::vector<std::uint32_t>& tables) const {
  return std::all_of(tables.begin(), tables.end(),
                     [&](std::uint32_t table) { return owner_.may_push(table); });
}

// Memory of the program's own goes to the half first. What is pushed out of order would spoil
// what was pushed before: it is left alone, and refused when it begins. Returns false if that
// is not known yet.
runtime::expected<bool> device_commands::bring(held& next) {
  const auto& command = *next.item;
  const auto tables = pushed_tables(command);
  const bool is_known = std::none_of(tables.begin(), tables.end(), [&](std::uint32_t table) {
    return preparing_.contains(table);
  });
  if (!is_known) return false;
  next.is_brought = true;
  if (tables.empty()) return true;
  if (!is_in_order(tables)) {
    next.is_prepared = true;
    return true;
  }
  preparing_.insert(tables.begin(), tables.end());
  if (command.gradient != nullptr) {
    const auto elements = owner_.host_gradient(command.table, command.half).size();
    next.after.push_back(tables_->bring_gradient(command.table, command.half,
                                                 std::span(command.gradient, elements)));
  }
  if (command.device_memory == nullptr) return true;
  const auto mark = tables_->bring_gradient(command.table, command.half, command.device_memory);
  if (!mark) return runtime::fail(mark.error());
  next.after.push_back(*mark);
  return true;
}

// What has to be there before the command begins.
status device_commands::prepare(held& next) {
  next.is_prepared = true;
  const auto& command = *next.item;
  const auto add = [&](const runtime::expected<device_tables::mark>& mark) {
    if (!mark) return mark.error();
    next.after.push_back(*mark);
    return status();
  };
  if (command.kind == command_action::copy_from_device)
    return add(tables_->copy_out(command.device_memory, command.elements));
  if (command.kind == command_action::copy_to_device)
    return add(tables_->copy_in(command.device_memory, command.elements));
  const auto tables = pushed_tables(command);
  if (tables.empty()) return {};
  next.is_checked = next.checks;
  if (next.checks)
    if (auto begun = add(tables_->check(tables, command.half)); !begun.ok()) return begun;
  if (owner_.stage(tables, command))
    for (const auto table : tables)
      next.after.push_back(tables_->take_gradient(table, command.half,
                                                  owner_.host_gradient(table, command.half)));
  return {};
}

status device_commands::prepare_all() {
  for (auto& next : held_.items()) {
    if (next.call || !are_over(next.after)) break;
    if (!next.is_brought) {
      const auto brought = bring(next);
      if (!brought) return brought.error();
      if (!*brought || !are_over(next.after)) break;
    }
    if (next.is_prepared) continue;
    if (auto prepared = prepare(next); !prepared.ok()) return prepared;
  }
  return {};
}

// A call may hold another command, or close everything.
void device_commands::begin_next() {
  if (auto prepared = prepare_all(); !prepared.ok()) return owner_.device_failed(prepared);
  while (is_next_due()) {
    const auto next = std::move(held_.front());
    held_.pop();
    if (next.call)
      next.call({});
    else
      begin(next);
    if (auto prepared = prepare_all(); !prepared.ok()) return owner_.device_failed(prepared);
  }
}

bool device_commands::is_next_due() {
  if (held_.empty() || !ending_.empty()) return false;
  auto& next = held_.front();
  if (next.work) {
    next.after = std::exchange(next.work, nullptr)();
    next.is_brought = next.is_prepared = true;
  }
  return next.is_prepared && are_over(next.after);
}

void device_commands::begin(const held& next) {
  auto& command = *next.item;
  if (command.kind == command_action::copy_from_device ||
      command.kind == command_action::copy_to_device)
    return command.done->complete({});
  const auto tables = pushed_tables(command);
  for (const auto table : tables) preparing_.erase(table);
  if (next.is_checked)
    for (const auto table : tables)
      if (const auto element = tables_->first_not_finite(table))
        return command.done->complete(owner_.judge(table, *element));
  owner_.begin(next.item);
}

void device_commands::look_again() {
  const bool is_idle = held_.empty() && ending_.empty();
  if (!is_idle && closed_.ok() && !std::exchange(looks_, true)) home_.after_progress(*this);
}

status device_commands::hand_out(ending& next) {
  const auto& command = *next.item;
  if (command.device_memory == nullptr || std::exchange(next.is_handed_out, true)) return {};
  const auto copied = tables_->hand_out(command.table, command.device_memory);
  if (!copied) return copied.error();
  next.after.push_back(*copied);
  return {};
}

void device_commands::go_on() {
  looks_ = false;
  if (!closed_.ok()) return;
  if (auto polled = tables_->poll(); !polled.ok()) return owner_.device_failed(polled);
  for (std::size_t i = 0; i < ending_.size();) {
    auto& next = ending_[i];
    if (are_over(next.after))
      if (auto handed = hand_out(next); !handed.ok()) return owner_.device_failed(handed);
    if (!are_over(next.after)) {
      ++i;
      continue;
    }
    const auto over = std::move(next.item);
    ending_.erase(ending_.begin() + static_cast<std::ptrdiff_t>(i));
    over->done->complete({});
  }
  begin_next();
  look_again();
}

}  // namespace tidegate::actors
