#include "runtime/recorder/span_ring.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <sys/mman.h>
#include <utility>

#include "runtime/base/record_clock.hpp"
#include "runtime/base/sealed_memory.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::runtime {

namespace {

using span_words = std::array<std::uint64_t, 7>;

// Of numbers that may be anything; wraps around.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) -
                                   static_cast<std::uint64_t>(b));
}
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) +
                                   static_cast<std::uint64_t>(b));
}

}  // namespace

expected<span_ring> span_ring::make(std::uint64_t token) {
  static_assert(offsetof(page, token) == 0, "memory begins with it");
  auto memory = make_sealed("tidegate-spans", "memory for traces", sizeof(page), token);
  if (!memory) return fail(memory.error());
  // All zeros are what its atomics begin with.
  return span_ring(static_cast<page*>(memory->at), std::move(memory->fd));
}

expected<span_ring> span_ring::open(int fd, std::uint64_t token) {
  const auto at = map_sealed(fd, "memory for traces", sizeof(page), token);
  if (!at) return fail(at.error());
  return span_ring(static_cast<page*>(*at), unique_fd());
}

span_ring::span_ring(span_ring&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)), fd_(std::move(other.fd_)) {}

span_ring& span_ring::operator=(span_ring&& other) noexcept {
  std::swap(page_, other.page_);
  std::swap(fd_, other.fd_);
  return *this;
}

span_ring::~span_ring() {
  if (page_ != nullptr) ::munmap(page_, sizeof(page));
}

void span_ring::add(const trace_span& span) noexcept {
  const auto number = page_->next.fetch_add(1, std::memory_order_relaxed);
  auto& into = page_->all[number % slots];
  const auto words = std::bit_cast<span_words>(span);
  into.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i)
    into.words[i].store(words[i], std::memory_order_relaxed);
  into.number.store(number + 1, std::memory_order_release);
}

// By one thread at a time: another lets it be.
void span_ring::write(shared_moment& at, const moment& now) noexcept {
  auto number = at.number.load(std::memory_order_relaxed);
  if (number % 2 != 0 ||
      !at.number.compare_exchange_strong(number, number + 1, std::memory_order_acquire))
    return;
  std::atomic_thread_fence(std::memory_order_release);
  at.record_ns.store(now.record_ns, std::memory_order_relaxed);
  at.steady_ns.store(now.steady_ns, std::memory_order_relaxed);
  at.number.store(number + 2, std::memory_order_release);
}

std::optional<span_ring::moment> span_ring::read(const shared_moment& at) noexcept {
  const auto number = at.number.load(std::memory_order_acquire);
  const moment found{.record_ns = at.record_ns.load(std::memory_order_relaxed),
                     .steady_ns = at.steady_ns.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool is_whole =
      number > 0 && number % 2 == 0 && at.number.load(std::memory_order_relaxed) == number;
  return is_whole ? std::optional(found) : std::nullopt;
}

// The pace of one clock by the other, from two moments far enough apart.
double span_ring::pace_between(const moment& first, const moment& last) {
  constexpr std::int64_t far_ns = 1'000'000'000;
  const auto recorded = difference(last.record_ns, first.record_ns);
  if (recorded < far_ns) return 1;
  const auto pace = static_cast<double>(difference(last.steady_ns, first.steady_ns)) /
                    static_cast<double>(recorded);
  return pace > 0.5 && pace < 2 ? pace : 1;
}

void span_ring::note_clocks() noexcept {
  const moment now{.record_ns = record_now(), .steady_ns = steady_now()};
  auto& [first, last] = page_->moments;
  if (first.number.load(std::memory_order_relaxed) == 0) write(first, now);
  write(last, now);
}

bool span_ring::is_over() const noexcept {
  return page_->next.load(std::memory_order_relaxed) > slots;
}

// What a process has written may be anything: nothing here overflows, and what cannot be is
// left out.
std::vector<trace_span> span_ring::read() const {
  const auto first = read(page_->moments[0]);
  const auto last = read(page_->moments[1]);
  const auto base = last ? last : first;
  if (!base) return {};
  const auto pace = first && last ? pace_between(*first, *last) : 1;
  const auto now = unix_now();
  const auto steady_to_unix = now - steady_now();
  const auto to_unix = [&](std::int64_t record_ns) {
    const auto since = static_cast<double>(difference(record_ns, base->record_ns)) * pace;
    constexpr double most = 4e18;
    const auto ns = static_cast<std::int64_t>(std::clamp(since, -most, most));
    return sum(sum(steady_to_unix, base->steady_ns), ns);
  };
  const auto end = page_->next.load(std::memory_order_acquire);
  std::vector<trace_span> found;
  for (auto number = end - std::min<std::uint64_t>(end, slots); number < end; ++number) {
    const auto& from = page_->all[number % slots];
    if (from.number.load(std::memory_order_acquire) != number + 1) continue;
    span_words words{};
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = from.words[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (from.number.load(std::memory_order_relaxed) != number + 1) continue;
    auto span = std::bit_cast<trace_span>(words);
    span.begin_ns = to_unix(span.begin_ns);
    span.end_ns = to_unix(span.end_ns);
    if (is_plausible(span, now)) found.push_back(span);
  }
  return found;
}

}  // namespace tidegate::runtime
