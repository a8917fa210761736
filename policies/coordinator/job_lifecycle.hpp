// How jobs begin, run and end: all shards and aggregators have joined, workers report and
// finish, the job is done or has failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/job_table.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

class job_lifecycle {
 public:
  explicit job_lifecycle(coordinator_state& state) : state_(state) {}

  // Returns true if all shards are in, and all aggregators of jobs that have not ended. Once
  // all have been in, aggregators that die are not counted: others take their places.
  bool all_in() const;
  bool has_begun() const { return begun_; }
  // Opens all jobs if all are in now and were not before (`were_in`).
  void begin_if_all_in(bool were_in, std::int64_t now, coordinator_effects& out);
  // coordinator_core::progress(), arrivals(), metric(), worker_finished(), worker_lost(),
  // is_to_hash().
  void progress(std::int64_t now, const std::string& job, std::uint32_t rank,
                const worker_progress& report, coordinator_effects& out);
  void arrivals(std::int64_t now, const std::string& reporter, const shard_report& report);
  runtime::status metric(const std::string& job, const std::string& name, double value,
                         coordinator_effects& out);
  void worker_finished(std::int64_t now, const std::string& job, std::uint32_t rank,
                       const worker_progress& last, const std::string& parameters_sha256,
                       coordinator_effects& out);
  void worker_lost(std::int64_t now, const std::string& job, std::uint32_t rank,
                   const std::string& why);
  bool is_to_hash(const std::string& job, std::uint32_t rank) const;
  // Ends the job if all workers have finished: at once, or when its last checkpoint is written.
  void maybe_ended(std::int64_t now, job_record& job, coordinator_effects& out);
  void done(std::int64_t now, job_record& job, coordinator_effects& out);
  // Fails a job, refuses all requests that wait for it, and closes it at shards and
  // aggregators. The first reason stands; a job that is done stays done.
  void fail_job(std::int64_t now, const std::string& job, const std::string& why,
                coordinator_effects& out);

 private:
  void add_arrivals(job_record& job, std::int64_t now, const std::string& reporter,
                    const job_arrivals& from);
  void add_times(std::uint32_t shard, const std::string& reporter, const shard_times& times);
  void all_joined(std::int64_t now, coordinator_effects& out);
  void open_job(std::size_t job, coordinator_effects& out);
  void close_below(const job_record& job, coordinator_effects& out);
  void all_finished(std::int64_t now, std::size_t job, coordinator_effects& out);

  coordinator_state& state_;
  bool begun_ = false;  // all have joined once
};

}  // namespace tidegate::policies::coordination
