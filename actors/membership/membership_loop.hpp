// Carries out the steps of a membership_shell on a thread that may block.
#pragma once

#include <cstdint>

#include "actors/membership/membership_shell.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

// `member`: find() and join() return how they went; rest(ns), which may end early, and stay()
// hear messages meanwhile; is_over(): there is nothing left to be a member for, which ends all
// of them. Errors: why the shell has given up.
template <class Member>
runtime::status carry_out(membership_shell& shell, membership_step step, Member& member) {
  using action = membership_step::action;
  while (!member.is_over()) {
    runtime::status result;
    switch (step.kind) {
      case action::find:
        result = member.find();
        break;
      case action::join:
        result = member.join();
        break;
      case action::rest: {
        const auto until = runtime::steady_now() + step.pause_ns;
        for (auto now = runtime::steady_now(); now < until && !member.is_over();
             now = runtime::steady_now())
          member.rest(until - now);
        break;
      }
      case action::stay:
        member.stay();
        break;
      case action::give_up:
        return step.why;
    }
    step = shell.next(runtime::steady_now(), result);
  }
  return {};
}

}  // namespace tidegate::actors
