// How jobs look to people: one line while they run, one table at the end. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/attribution/job_rates.hpp"
#include "policies/model/cluster_status.hpp"

namespace tidegate::launch {

// "mlp  ssp(3)  epoch 2.4  clock 120..123 of 469  loss 0.4312  51,200 samples/s  1m12s left"
// `workers`: how many the job has; `rates`: of its last seconds. At most `width` characters; 0:
// no limit.
std::string progress_line(const policies::job_status& job, std::uint32_t workers,
                          const policies::job_rates& rates, std::size_t width);

// "job mlp has waited 3 s for worker-mlp-1 to join (and 2 more)": the longest first. `waits` is
// not empty.
std::string wait_text(const std::vector<policies::wait_status>& waits);

// A row for each job: state, time, samples/s, clocks, restarts of workers and the beginning of
// its parameters' SHA-256; below them what its workers have reported, and the largest
// staleness. 80 columns are enough for names of jobs up to 13 characters.
std::string result_table(const std::vector<policies::job_status>& jobs);

// The first 12 of the digits.
std::string short_hash(std::string_view sha256);

// "8s", "1m12s", "2h05m"
std::string duration_text(double seconds);
// "51,200"
std::string grouped(std::uint64_t n);

std::string_view to_string(policies::job_state state) noexcept;

// Samples a second over the whole run of the job; 0 before it has begun.
double samples_per_second(const policies::job_status& job) noexcept;

}  // namespace tidegate::launch
