#include "launch/plan/run_paths.hpp"

#include <array>
#include <ctime>

namespace tidegate::launch {

std::string stamped_run_dir(const std::string& cluster, std::int64_t unix_seconds) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
  return "runs/" + cluster + "-" + text.data();
}

}  // namespace tidegate::launch
