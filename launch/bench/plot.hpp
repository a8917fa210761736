// Time against size as an SVG picture: logarithmic axes, a line per series, a legend. Pure, any
// thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::bench {

struct plot_point {
  double bytes = 0;    // > 0
  double seconds = 0;  // > 0
};

struct plot_series {
  std::string name;
  std::vector<plot_point> points;  // ascending in bytes
};

struct plot_data {
  std::string title;
  std::vector<plot_series> series;
};

// A whole SVG file. Points that logarithms cannot show are left out.
std::string plot_svg(const plot_data& data);

// {"title": "...", "series": [{"name": "...", "points": [[bytes, seconds], ...]}]}. Errors:
// invalid_argument.
runtime::expected<plot_data> parse_plot(const std::string& json);

}  // namespace tidegate::bench
