#include "tests/e2e/kept_state.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "runtime/base/rng.hpp"

namespace tidegate::tests {

namespace {

// Follows from the rank, and the clocks since the worker began to keep state.
std::uint64_t value_at(std::uint64_t rank, std::uint64_t begun, std::uint64_t clock) {
  auto value = runtime::mix64(rank + 1);
  for (auto past = begun; past < clock; ++past) value = runtime::mix64(value ^ past);
  return value;
}

std::vector<std::byte> blob_of(std::uint64_t value, std::uint64_t most) {
  std::vector<std::byte> bytes(most == 0 ? 0 : most / 2 + value % (most / 2));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof value) {
    value = runtime::mix64(value);
    std::memcpy(bytes.data() + at, &value, std::min(sizeof value, bytes.size() - at));
  }
  return bytes;
}

status keep_number(session& session, const char* name, std::uint64_t number) {
  return session.state().keep(name, std::as_bytes(std::span(&number, 1)));
}

expected<std::uint64_t> kept_number(const session& session, const char* name) {
  const auto bytes = session.state().kept(name);
  if (!bytes) return fail(bytes.error());
  std::uint64_t number = 0;
  if (bytes->size() != sizeof number)
    return fail(errc::corrupt, std::string(name) + " has " + std::to_string(bytes->size()));
  std::memcpy(&number, bytes->data(), sizeof number);
  return number;
}

// Checks that what is kept is the state of this clock. Returns the clock from which on this
// rank has kept state.
expected<std::uint64_t> check_state(const session& session, std::uint64_t most,
                                    std::uint64_t clock) {
  const auto rank = session.info().rank;
  const auto begun = kept_number(session, "begun");
  if (!begun) return fail(begun.error());
  const auto at = kept_number(session, "clock");
  if (!at) return fail(at.error());
  if (*at != clock)
    return fail(errc::corrupt, "the state of clock " + std::to_string(*at) + " at clock " +
                                   std::to_string(clock));
  const auto blob = session.state().kept("blob");
  if (!blob) return fail(blob.error());
  if (!std::ranges::equal(*blob, blob_of(value_at(rank, *begun, clock), most)))
    return fail(errc::corrupt, "a torn state at clock " + std::to_string(clock));
  return *begun;
}

// Returns the clock from which on this rank has kept state.
expected<std::uint64_t> check(session& session, std::uint64_t most) {
  const auto clock = session.now();
  if (session.state().is_lost()) {
    const auto older = session.state().older();
    std::printf("state is lost at clock %llu\n", static_cast<unsigned long long>(clock));
    if (older)
      std::printf("that of clock %llu is there\n", static_cast<unsigned long long>(*older));
    std::fflush(stdout);
    // With its older state the program could go on; it checks it, and begins anew.
    if (older) {
      if (auto used = session.state().use_older(); !used.ok()) return fail(used);
      if (auto begun = check_state(session, most, *older); !begun) return begun;
    }
    if (auto cleared = session.state().forget_all(); !cleared.ok()) return fail(cleared);
    return clock;
  }
  const auto names = session.state().names();
  if (!names) return fail(names.error());
  if (names->empty()) {
    if (clock > 0) return fail(errc::corrupt, "no state at clock " + std::to_string(clock));
    return 0;
  }
  return check_state(session, most, clock);
}

// kill -9 of this process by itself, at whatever instruction it is then.
void die_within(std::uint64_t lifetime_us, std::uint64_t key) {
  if (lifetime_us == 0) return;
  const auto us = runtime::mix64(key) % lifetime_us;
  std::thread([us] {
    std::this_thread::sleep_for(std::chrono::microseconds(us));
    ::kill(::getpid(), SIGKILL);
  }).detach();
}

}  // namespace

status keep_and_push(session& session, const keeping_options& options) {
  table_options table;
  table.optimizer = {.name = "sgd", .learning_rate = 1.0F};
  const auto sums = session.open_table("sums", {100}, table);
  if (!sums) return sums.error();
  const auto others = session.open_table("others", {10}, table);
  if (!others) return others.error();
  const auto begun = check(session, options.bytes);
  if (!begun) return begun.error();
  const auto rank = session.info().rank;
  die_within(options.lifetime_us, std::uint64_t{rank} << 32U | session.info().incarnation);
  runtime::rng pauses(rank);
  const std::array both{*sums, *others};
  for (auto clock = session.now(); clock < options.clocks; clock = session.now()) {
    const auto value = value_at(rank, *begun, clock + 1);
    std::ranges::fill(session.gradient(*sums), 1.0F);
    std::ranges::fill(session.gradient(*others), 1.0F);
    for (auto kept :
         {keep_number(session, "begun", *begun), keep_number(session, "clock", clock + 1),
          session.state().keep("blob", blob_of(value, options.bytes))})
      if (!kept.ok()) return kept;
    if (options.pause_us_max > 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds(pauses.below(options.pause_us_max)));
    if (options.exchanges) {
      if (auto done = session.exchange(both); !done.ok()) return done;
      continue;
    }
    auto first = session.push(*others);
    auto second = session.push(*sums);
    // Some wait for the pushes before the clock, and some do not.
    if (value % 2 == 0)
      for (const auto* pushed : {&first, &second})
        if (auto done = pushed->wait(); !done.ok()) return done;
    if (auto done = session.clock(); !done.ok()) return done;
  }
  if (auto done = session.pull_final(*sums).wait(); !done.ok()) return done;
  if (rank == 0) session.report_metric("pushes", -session.parameters(*sums)[0]);
  return session.finish();
}

}  // namespace tidegate::tests
