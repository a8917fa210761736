// Modelled runs as a table, as JSON and as pictures. Pure, any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launch/simulate/scale/outcome.hpp"
#include "launch/simulate/scale/setting.hpp"

namespace tidegate::simulate {

struct modelled {
  sim::scale::setting setting;
  sim::scale::outcome outcome;
};

std::string scale_table(const std::vector<modelled>& runs);
std::string scale_json(const std::vector<modelled>& runs);

// (end of the file's name, SVG): rate, efficiency, waiting and staleness against workers.
std::vector<std::pair<std::string, std::string>> scale_pictures(
    const std::vector<modelled>& runs);

}  // namespace tidegate::simulate
