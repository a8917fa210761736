// Tells the coordinator when pushes have come in, and how busy this process is: now and then,
// as frames come and clocks close, and when a worker has finished; a replica, as steps come to
// it. One thread, the home's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "actors/seam/shell_home.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/ingress_core.hpp"
#include "policies/shard/registry.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/trace_span.hpp"

namespace tidegate::actors {

class arrival_reports {
 public:
  arrival_reports(shell_home& home, const policies::shard_core& shard,
                  policies::ingress_core& core)
      : home_(home), shard_(shard), core_(core) {}

  // As long as it lives a frame is handled, or what was put off. What comes while this process
  // works waits to be handled, and is not late for that: arrivals are told by a clock that
  // stands still meanwhile.
  class work {
   public:
    // What was put off.
    explicit work(arrival_reports& of) : of_(of) { of_.begin(); }
    // `header`: of the frame, of a worker or another process of the chain; outlives this.
    work(arrival_reports& of, const runtime::frame_header& header) : work(of) {
      header_ = &header;
      if (of_.is_due()) of_.report(brings_steps(header));
    }
    ~work() {
      of_.end();
      if (header_ == nullptr) return;
      of_.record(*header_);
      // The job may have ended before another report is due.
      if (header_->kind == runtime::frame_kind::finished) of_.report(false);
    }
    work(const work&) = delete;
    work& operator=(const work&) = delete;

   private:
    arrival_reports& of_;
    const runtime::frame_header* header_ = nullptr;
  };

  // From now on a step waits for the replica, or none does.
  void wait_for_replica(bool waits) {
    if (waits == (replica_since_ != 0)) return;
    const auto now = home_.record_now();
    if (!waits) {
      replica_ns_ += std::max<std::int64_t>(0, now - replica_since_);
      if (records_)
        home_.record({.begin_ns = replica_since_,
                      .end_ns = now,
                      .peer = core_.index(),
                      .table = runtime::whole_job,
                      .kind = runtime::span_kind::replica});
    }
    replica_since_ = waits ? now : 0;
  }

  // Gradients have come or were read, parameters are sent: so many bytes.
  void count_in(std::uint64_t bytes) noexcept { bytes_in_ += bytes; }
  void count_out(std::uint64_t bytes) noexcept { bytes_out_ += bytes; }

  // A chunk is stepped with what was pushed in this clock, until the next is, or this work
  // ends: a step by itself needs no reading of a clock. What is stepped outside of work is not
  // recorded.
  void record_step(const policies::sharding::chunk_registry& chunks, std::uint32_t slot,
                   std::uint64_t clock) {
    if (!records_ || !is_at_work_) return;
    if (step_.count > 0) end_step(home_.record_now());
    const auto chunk = chunks.name_of(slot);
    step_.peer = core_.index();
    step_.job = chunk.job;
    step_.clock = clock;
    step_.table = chunk.table;
    step_.chunk = chunk.chunk;
    step_.count = 1;
  }

 private:
  // Whether it comes from the process before this one in the chain, for which it is a replica.
  static bool brings_steps(const runtime::frame_header& header) {
    return header.kind == runtime::frame_kind::step ||
           header.kind == runtime::frame_kind::steps ||
           header.kind == runtime::frame_kind::seed;
  }
  void begin() {
    TIDEGATE_ASSERT(!is_at_work_, "a frame is handled after the other");
    is_at_work_ = true;
    bytes_before_ = bytes_in_;
    began_ = step_.begin_ns = home_.record_now();
    if (first_ == 0) first_ = began_;
    core_.set_time(began_ - busy_ns_);
  }
  bool is_due() const noexcept { return began_ >= reported_at_ + pause_ns; }
  // `always`: also where no clock has closed.
  void report(bool always) {
    reported_at_ = began_;
    auto closed = core_.take_arrivals();
    if (closed.empty() && !always) return;
    home_.report_arrivals({.closed = std::move(closed),
                           .times = {.elapsed_ns = static_cast<std::uint64_t>(began_ - first_),
                                     .busy_ns = static_cast<std::uint64_t>(busy_ns_),
                                     .replica_ns = replica_ns(),
                                     .bytes_in = bytes_in_,
                                     .bytes_out = bytes_out_,
                                     .resident_bytes = home_.resident_bytes(),
                                     .pushes_held = shard_.pushes_held(),
                                     .pressure = home_.pressure()}});
  }
  std::uint64_t replica_ns() const {
    const auto waits = replica_since_ == 0 ? 0 : began_ - replica_since_;
    return static_cast<std::uint64_t>(replica_ns_ + std::max<std::int64_t>(0, waits));
  }
  void end() {
    is_at_work_ = false;
    ended_ = home_.record_now();
    busy_ns_ += std::max<std::int64_t>(0, ended_ - began_);
    if (step_.count > 0) end_step(ended_);
  }
  void end_step(std::int64_t now) {
    step_.end_ns = now;
    home_.record(step_);
    step_.begin_ns = now;
    step_.count = 0;
  }
  void record(const runtime::frame_header& header) {
    if (!records_) return;
    auto span =
        runtime::span_of(runtime::span_kind::frame, header, header.worker, began_, ended_);
    constexpr std::uint64_t word_bytes = 4;
    span.words = static_cast<std::uint32_t>(
        std::min<std::uint64_t>((bytes_in_ - bytes_before_ + word_bytes - 1) / word_bytes,
                                std::numeric_limits<std::uint32_t>::max()));
    home_.record(span);
  }

  static constexpr std::int64_t pause_ns = 1'000'000'000;

  shell_home& home_;
  const policies::shard_core& shard_;
  policies::ingress_core& core_;
  std::int64_t first_ = 0;
  const bool records_ = home_.records();
  bool is_at_work_ = false;
  std::int64_t began_ = 0;
  std::int64_t ended_ = 0;
  runtime::trace_span step_{.count = 0, .kind = runtime::span_kind::step};  // 0: none is made
  std::int64_t busy_ns_ = 0;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_before_ = 0;  // this work
  std::uint64_t bytes_out_ = 0;
  std::int64_t replica_ns_ = 0;     // that has ended
  std::int64_t replica_since_ = 0;  // 0: nothing waits for the replica
  std::int64_t reported_at_ = 0;
};

}  // namespace tidegate::actors
