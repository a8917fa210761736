#include "launch/cli/pages.hpp"

#include <algorithm>
#include <utility>

#include "launch/bench/options.hpp"
#include "launch/chaos/options.hpp"
#include "launch/cli/command_line.hpp"
#include "launch/cli/manual_command.hpp"
#include "launch/door/door_command.hpp"
#include "launch/kubernetes/render_command.hpp"
#include "launch/simulate/simulate.hpp"

namespace tidegate::launch {

std::vector<command_page> all_pages() {
  auto pages = command_pages();
  const auto add = [&pages](std::vector<command_page> more) {
    for (auto& page : more) pages.push_back(std::move(page));
  };
  add(bench::bench_pages());
  add(door_pages());
  add({chaos::chaos_page(), render_page(), simulate::simulate_page(), completion_page()});
  std::sort(pages.begin() + 1, pages.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return pages;
}

}  // namespace tidegate::launch
