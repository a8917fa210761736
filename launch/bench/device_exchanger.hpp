// One exchange through the client's interface, of tables on a device. Gradients go there, and
// parameters come back to be compared, outside the timed part. One thread; the session outlives
// it.
#pragma once

#include <string>
#include <vector>

#include "launch/bench/measure.hpp"
#include <tidegate/session.hpp>

namespace tidegate::bench {

class server_processes;

class device_exchanger final : public participant {
 public:
  // Opens `tables` tables that share `elements` elements on this device. Errors: those of
  // use_device and open_table.
  static runtime::expected<device_exchanger> open(tidegate::session& job,
                                                  const std::string& device,
                                                  std::uint64_t elements, std::uint32_t tables);

  // Whose CPU time counts as the servers'; may be left out.
  void watch(const server_processes* servers) noexcept { servers_ = servers; }

  std::size_t tables() const override { return tables_.size(); }
  std::span<float> gradient(std::size_t table) override { return values_[table]; }
  runtime::status bring_gradients() override;
  runtime::status exchange() override { return job_->exchange(tables_); }
  runtime::status fetch_parameters() override;
  std::span<const float> parameters(std::size_t table) const override { return values_[table]; }
  double servers_cpu_seconds() const override;

 private:
  explicit device_exchanger(tidegate::session& job) : job_(&job) {}

  tidegate::session* job_;
  std::vector<tidegate::table> tables_;
  std::vector<std::vector<float>> values_;  // on the host: gradients, then parameters
  const server_processes* servers_ = nullptr;
};

}  // namespace tidegate::bench
