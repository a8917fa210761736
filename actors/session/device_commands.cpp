#include "actors/session/device_commands.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::actors {

using command_action = worker_command::action;
using runtime::status;

void device_commands::hold(const worker_command_ptr& item, bool checks) {
  auto mark = tables_->after_program();
  if (!mark) return fail(mark.error());
  held_.push({.item = item, .call = {}, .checks = checks, .after = {}});
  held_.items().back().after.push_back(*mark);
  begin_next();
  look_again();
}

void device_commands::hold(std::span<const pushed_gradient> gradients,
                           std::function<void()> call) {
  held next{.item = {},
            .call = std::move(call),
            .is_brought = true,
            .is_prepared = true,
            .after = {}};
  for (const auto& gradient : gradients)
    next.after.push_back(tables_->take_gradient(
        gradient.table, gradient.half, owner_.host_gradient(gradient.table, gradient.half)));
  held_.push(std::move(next));
  begin_next();
  look_again();
}

void device_commands::complete(const worker_command_ptr& item,
                               std::vector<device_tables::mark> after) {
  ending next{.item = item, .after = std::move(after)};
  if (is_over(next)) return item->done->complete({});
  ending_.push_back(std::move(next));
  look_again();
}

bool device_commands::is_over(ending& item) {
  if (!are_over(item.after)) return false;
  const auto& command = *item.item;
  if (command.device_memory == nullptr || std::exchange(item.is_handed_out, true)) return true;
  const auto copied = tables_->hand_out(command.table, command.device_memory);
  if (!copied) return true;  // the device is lost, as the next look tells
  item.after.push_back(*copied);
  return are_over(item.after);
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

// Memory of the program's own goes to the half first.
status device_commands::bring(held& next) {
  next.is_brought = true;
  const auto& command = *next.item;
  if (command.kind != command_action::push || !tables_->has(command.table)) return {};
  if (command.gradient != nullptr) {
    const auto elements = owner_.host_gradient(command.table, command.half).size();
    next.after.push_back(tables_->bring_gradient(command.table, command.half,
                                                 std::span(command.gradient, elements)));
  }
  if (command.device_memory == nullptr) return {};
  const auto mark = tables_->bring_gradient(command.table, command.half, command.device_memory);
  if (!mark) return mark.error();
  next.after.push_back(*mark);
  return {};
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
  if (next.checks)
    if (auto begun = add(tables_->check(tables, command.half)); !begun.ok()) return begun;
  if (owner_.stage(tables, command.half))
    for (const auto table : tables)
      next.after.push_back(tables_->take_gradient(table, command.half,
                                                  owner_.host_gradient(table, command.half)));
  return {};
}

// A call may hold another command.
void device_commands::begin_next() {
  for (auto& next : held_.items()) {
    if (!are_over(next.after)) break;
    if (!next.is_brought) {
      if (auto begun = bring(next); !begun.ok()) return fail(begun);
      if (!are_over(next.after)) break;
    }
    if (next.is_prepared) continue;
    if (auto prepared = prepare(next); !prepared.ok()) return fail(prepared);
  }
  while (!held_.empty() && held_.front().is_prepared && are_over(held_.front().after)) {
    const auto next = std::move(held_.front());
    held_.pop();
    if (next.call)
      next.call();
    else
      begin(next);
  }
}

void device_commands::begin(const held& next) {
  auto& command = *next.item;
  if (command.kind == command_action::copy_from_device ||
      command.kind == command_action::copy_to_device)
    return command.done->complete({});
  if (next.checks)
    for (const auto table : pushed_tables(command))
      if (const auto element = tables_->first_not_finite(table))
        return command.done->complete(owner_.judge(table, *element));
  owner_.begin(next.item);
}

void device_commands::look_again() {
  const bool is_idle = held_.empty() && ending_.empty();
  if (!is_idle && !std::exchange(looks_, true)) home_.after_progress(*this);
}

void device_commands::go_on() {
  looks_ = false;
  if (auto polled = tables_->poll(); !polled.ok()) return fail(polled);
  auto ended = std::partition(ending_.begin(), ending_.end(),
                              [&](ending& item) { return !is_over(item); });
  std::vector<worker_command_ptr> over;
  for (auto at = ended; at != ending_.end(); ++at) over.push_back(std::move(at->item));
  ending_.erase(ended, ending_.end());
  for (const auto& item : over) item->done->complete({});
  begin_next();
  look_again();
}

// A lost device is the end of its process, as of a shard's.
void device_commands::fail(const status& why) {
  owner_.device_failed(why);
  for (auto& item : std::exchange(ending_, {})) item.item->done->complete(why);
  auto held = std::exchange(held_, {});
  for (auto& next : held.items())
    if (next.item) next.item->done->complete(why);
}

}  // namespace tidegate::actors
