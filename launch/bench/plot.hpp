// One quantity against another as an SVG picture: logarithmic axes, a line per series, a
// legend. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::bench {

struct plot_point {
  double x = 0;  // > 0
  double y = 0;  // > 0
};

// How the ends of lines of the grid are written: 4KiB, 10 ms, 1e+06.
enum class plot_unit : std::uint8_t { bytes, seconds, number };

struct plot_series {
  std::string name;
  std::vector<plot_point> points;  // ascending in x
};

struct plot_data {
  std::string title;
  std::vector<plot_series> series;
  plot_unit x_unit = plot_unit::bytes;
  plot_unit y_unit = plot_unit::seconds;
  std::string x_name = "bytes of one worker's gradient";
};

// A whole SVG file. Points that logarithms cannot show are left out.
std::string plot_svg(const plot_data& data);

// Time against bytes: {"title": "...", "series": [{"name": "...", "points": [[bytes, seconds],
// ...]}]}. Errors: invalid_argument.
runtime::expected<plot_data> parse_plot(const std::string& json);

}  // namespace tidegate::bench
