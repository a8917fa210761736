#include "launch/bench/arena.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::bench {

namespace {

constexpr std::uint64_t magic = 0x31616e6572613354;  // changes with the layout
constexpr std::size_t failure_bytes_max = 1000;
// How long a rank spins, then yields, before it sleeps: some microseconds of each.
constexpr int spins = 500;
constexpr int yields = 200;
constexpr long sleep_ns = 20'000;

enum failure_state : std::uint32_t { none, being_written, written };

runtime::status failure_of(const std::string& path, int why) {
  return {why == ENOENT ? runtime::errc::not_found : runtime::errc::io_error,
          path + ": " + std::strerror(why)};
}

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

void wait_a_little(int round, waiting options) noexcept {
  if (round < spins) {
    pause_cpu();
  } else if (options == waiting::prompt || round < spins + yields) {
    ::sched_yield();
  } else {
    const timespec nap{0, sleep_ns};
    ::nanosleep(&nap, nullptr);
  }
}

}  // namespace

struct arena::header {
  std::uint64_t magic;
  std::uint64_t bytes;  // of the whole file
  arena_shape shape;
  alignas(64) std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> generation;
  std::atomic<std::uint32_t> failure;
  char failure_text[failure_bytes_max + 1];
};

struct arena::rank_record {
  alignas(64) account self;
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "shared between processes");

arena::header& arena::head() const noexcept {
  return *static_cast<header*>(memory_);
}

arena::rank_record& arena::record_of(std::uint32_t rank) const noexcept {
  TIDEGATE_ASSERT(rank < shape().ranks, "a rank of this arena");
  auto* first = static_cast<std::byte*>(memory_) + sizeof(header);
  return reinterpret_cast<rank_record*>(first)[rank];
}

span_ns& arena::span_of(std::uint32_t rank, std::uint32_t iteration) const noexcept {
  const auto [ranks, iterations] = shape();
  TIDEGATE_ASSERT(rank < ranks && iteration < iterations, "an iteration of this arena");
  auto* first = static_cast<std::byte*>(memory_) + sizeof(header) + ranks * sizeof(rank_record);
  return reinterpret_cast<span_ns*>(first)[std::size_t{rank} * iterations + iteration];
}

runtime::expected<arena> arena::create(const std::string& path, const arena_shape& shape) {
  if (shape.ranks == 0 || shape.ranks > ranks_max || shape.iterations == 0 ||
      shape.iterations > iterations_max)
    return runtime::fail(runtime::errc::invalid_argument,
                         "an arena of " + std::to_string(shape.ranks) + " ranks and " +
                             std::to_string(shape.iterations) + " iterations; allowed: 1 to " +
                             std::to_string(ranks_max) + " and 1 to " +
                             std::to_string(iterations_max));
  const std::size_t bytes =
      sizeof(header) +
      shape.ranks * (sizeof(rank_record) + std::size_t{shape.iterations} * sizeof(span_ns));
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return runtime::fail(failure_of(path, errno));
  // Real blocks, so that a full disk is an error here and no SIGBUS later.
  const int refused = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  void* memory = refused == 0
                     ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
  const int why = refused == 0 ? errno : refused;
  ::close(fd);
  if (memory == MAP_FAILED) {
    ::unlink(path.c_str());
    return runtime::fail(failure_of(path, why));
  }
  auto* head = new (memory) header{};
  head->bytes = bytes;
  head->shape = shape;
  head->magic = magic;
  arena result;
  result.memory_ = memory;
  result.bytes_ = bytes;
  return result;
}

runtime::expected<arena> arena::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return runtime::fail(failure_of(path, errno));
  struct stat about = {};
  if (::fstat(fd, &about) != 0 || about.st_size < static_cast<off_t>(sizeof(header))) {
    ::close(fd);
    return runtime::fail(runtime::errc::corrupt, path + ": too short for an arena");
  }
  const auto bytes = static_cast<std::size_t>(about.st_size);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int why = errno;
  ::close(fd);
  if (memory == MAP_FAILED) return runtime::fail(failure_of(path, why));
  arena opened;
  opened.memory_ = memory;
  opened.bytes_ = bytes;
  const auto& head = opened.head();
  const auto& shape = head.shape;
  if (head.magic != magic || head.bytes != bytes || shape.ranks == 0 ||
      shape.ranks > ranks_max || shape.iterations > iterations_max ||
      bytes != sizeof(header) +
                   shape.ranks * (sizeof(rank_record) + shape.iterations * sizeof(span_ns)))
    return runtime::fail(runtime::errc::corrupt,
                         path + ": not an arena of this version, or only a part of one");
  return opened;
}

arena::arena(arena&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

arena& arena::operator=(arena&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

arena::~arena() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

arena_shape arena::shape() const noexcept {
  return head().shape;
}

runtime::status arena::failed() const {
  if (head().failure.load(std::memory_order_acquire) == none) return {};
  return {runtime::errc::cancelled, failure()};
}

runtime::status arena::wait_for_all(waiting options, std::uint32_t timeout_ms) {
  auto& all = head();
  const auto generation = all.generation.load(std::memory_order_acquire);
  if (all.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == all.shape.ranks) {
    all.arrived.store(0, std::memory_order_relaxed);
    all.generation.fetch_add(1, std::memory_order_release);
    return failed();
  }
  const auto deadline = now_ns() + std::int64_t{timeout_ms} * 1'000'000;
  for (int round = 0; all.generation.load(std::memory_order_acquire) == generation; ++round) {
    if (auto why = failed(); !why.ok()) return why;
    wait_a_little(round, options);
    if (round < spins || now_ns() < deadline) continue;
    runtime::status late(runtime::errc::timed_out, "not all ranks came to the barrier within " +
                                                       std::to_string(timeout_ms) + " ms");
    fail(late.message());
    return late;
  }
  return failed();
}

void arena::fail(const std::string& why) {
  auto& all = head();
  std::uint32_t before = none;
  if (!all.failure.compare_exchange_strong(before, being_written)) return;
  const auto length = std::min(why.size(), failure_bytes_max);
  std::memcpy(all.failure_text, why.data(), length);
  all.failure_text[length] = '\0';
  all.failure.store(written, std::memory_order_release);
}

std::string arena::failure() const {
  const auto state = head().failure.load(std::memory_order_acquire);
  if (state == none) return "";
  return state == written ? head().failure_text : "a rank has failed";
}

void arena::record(std::uint32_t rank, std::uint32_t iteration, const span_ns& when) {
  span_of(rank, iteration) = when;
}

span_ns arena::recorded(std::uint32_t rank, std::uint32_t iteration) const {
  return span_of(rank, iteration);
}

std::int64_t arena::exchange_ns(std::uint32_t iteration) const {
  auto whole = recorded(0, iteration);
  for (std::uint32_t rank = 1; rank < shape().ranks; ++rank) {
    const auto ns = recorded(rank, iteration);
    whole.begin = std::min(whole.begin, ns.begin);
    whole.end = std::max(whole.end, ns.end);
  }
  return whole.end - whole.begin;
}

void arena::report(std::uint32_t rank, const account& entry) {
  record_of(rank).self = entry;
}

arena::account arena::reported(std::uint32_t rank) const {
  return record_of(rank).self;
}

std::int64_t now_ns() noexcept {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace tidegate::bench
