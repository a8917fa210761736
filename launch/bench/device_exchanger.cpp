#include "launch/bench/device_exchanger.hpp"

#include "launch/bench/exchanger.hpp"
#include "launch/bench/server_processes.hpp"

namespace tidegate::bench {

runtime::expected<device_exchanger> device_exchanger::open(tidegate::session& job,
                                                           const std::string& device,
                                                           std::uint64_t elements,
                                                           std::uint32_t tables) {
  device_exchanger result(job);
  if (auto used = job.use_device({.name = device}); !used.ok()) return runtime::fail(used);
  auto opened = open_tables(job, elements, tables);
  if (!opened) return runtime::fail(opened.error());
  result.tables_ = std::move(*opened);
  for (const auto& table : result.tables_) result.values_.emplace_back(table.size);
  return result;
}

runtime::status device_exchanger::bring_gradients() {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const auto room = job_->device_gradient(tables_[i]);
    if (!room) return room.error();
    if (auto copied = job_->copy(*room, values_[i]); !copied.ok()) return copied;
  }
  return {};
}

runtime::status device_exchanger::fetch_parameters() {
  for (std::size_t i = 0; i < tables_.size(); ++i)
    if (auto copied = job_->copy(values_[i], job_->device_parameters(tables_[i])); !copied.ok())
      return copied;
  return {};
}

double device_exchanger::servers_cpu_seconds() const {
  return servers_ == nullptr ? 0 : servers_->cpu_seconds();
}

}  // namespace tidegate::bench
