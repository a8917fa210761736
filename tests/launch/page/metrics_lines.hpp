// Lines of metrics.jsonl as a launcher writes them, of workers of which number 1 is slow.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace tidegate::launch::metrics_lines {

// Of the second from this one on, without its end.
inline std::string line(int second, int workers, const std::string& job = "mlp") {
  nlohmann::ordered_json all{
      {"version", 1},
      {"unix_ns", (1'800'000'000 + std::int64_t{second} + 1) * 1'000'000'000},
      {"job", job},
      {"policy", "bsp"},
      {"epoch", 1},
      {"clock_slowest", (second + 1) * 10},
      {"clock_fastest", (second + 1) * 10 + 1},
      {"samples", second * workers * 320},
      {"loss", nullptr},
      {"staleness_max", 2},
      {"restarts", 0},
      {"seconds", 1.0},
      {"clocks_per_second", 10.0},
      {"samples_per_second", workers * 320.0},
      {"metrics", {{"accuracy", 0.25}}}};
  if (second > 0) all["loss"] = 0.5;
  all["workers"] = nlohmann::ordered_json::array();
  for (int rank = 0; rank < workers; ++rank) {
    const bool is_slow = rank == 1;
    all["workers"].push_back({{"rank", rank},
                              {"incarnation", 1},
                              {"clock", (second + 1) * 10},
                              {"clocks_per_second", 10.0},
                              {"samples_per_second", 320.0},
                              {"computes", is_slow ? 0.99 : 0.39},
                              {"calls", 0.01},
                              {"waits", is_slow ? 0.0 : 0.6},
                              {"comes_last", is_slow ? 1.0 : 0.0},
                              {"late_seconds", is_slow ? 0.03 : 0.0}});
  }
  return all.dump();
}

}  // namespace tidegate::launch::metrics_lines
