// One exchange through the client's interface: push, clock, pull. All that the benchmark knows
// of that interface's way with memory is here. One thread; the session outlives it.
#pragma once

#include <memory>
#include <vector>

#include "actors/client.hpp"
#include "launch/bench/huge_array.hpp"
#include "launch/bench/measure.hpp"

namespace tidegate::bench {

class server_processes;

class exchanger final : public participant {
 public:
  // Opens `tables` tables that share `elements` elements. Errors: those of open_table.
  static runtime::expected<exchanger> open(actors::session& job, std::uint64_t elements,
                                           std::uint32_t tables);

  // Whose CPU time counts as the servers'; may be left out.
  void watch(const server_processes* servers) noexcept { servers_ = servers; }

  std::span<float> gradient() override { return gradient_.all(); }
  runtime::status exchange() override;
  std::span<const float> parameters() const override { return parameters_.all(); }
  runtime::status settle() override;
  double servers_cpu_seconds() const override;

 private:
  exchanger(actors::session& job, std::uint64_t elements);

  actors::session* job_;
  std::vector<actors::table> tables_;
  huge_array gradient_;
  huge_array parameters_;
  std::vector<actors::pending> pushed_;
  std::vector<actors::pending> pulled_;
  const server_processes* servers_ = nullptr;
};

}  // namespace tidegate::bench
