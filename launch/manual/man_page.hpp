// Manual pages, as man(7) wants them, out of the texts of --help and the table of keys. Pure,
// any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/config/yaml_keys.hpp"
#include "launch/text/command_page.hpp"

namespace tidegate::launch {

struct manual_edition {
  std::string date;     // "2026-01-31"
  std::string version;  // "0.2.0"
};

// "tidegate-bench-rows"; of the first page, whose name is empty, "tidegate".
std::string man_name(const command_page& page);

// tidegate(1), or that of a command. The first of all pages is that of `tidegate` itself.
std::string command_manual(const std::vector<command_page>& pages, const command_page& page,
                           const manual_edition& edition);

// tidegate.yaml(5)
std::string keys_manual(const manual_edition& edition, key_table table = known_keys());

// The text as man(7) shows it: no letter of it is an order.
std::string man_text(std::string_view text);

}  // namespace tidegate::launch
