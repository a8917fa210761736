#include "launch/bench/plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include <nlohmann/json.hpp>

#include "launch/bench/sizes.hpp"

namespace tidegate::bench {

namespace {

constexpr double width = 820, height = 480;
constexpr double left = 80, right = 250, top = 48, bottom = 60;  // margins
constexpr double legend_line = 20;
// Told apart by most eyes (Okabe and Ito, 2008).
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000", "#999999"};

// XML has no control characters but these three, and five characters of its own.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) +
         escaped(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1,
                y1, x2, y2, colour);
}

std::string time_text(double seconds) {
  if (seconds >= 0.9999) return format("%g s", seconds);
  if (seconds >= 0.9999e-3) return format("%g ms", seconds * 1e3);
  return format("%g us", seconds * 1e6);
}

std::string text_of(plot_unit unit, double value) {
  switch (unit) {
    case plot_unit::bytes:
      return format_size(static_cast<std::uint64_t>(std::clamp(value, 1.0, 0x1p62)));
    case plot_unit::seconds:
      return time_text(value);
    case plot_unit::number:
      break;
  }
  return format("%g", value);
}

// Bytes have powers of two, all else of ten.
double base_of(plot_unit unit) {
  return unit == plot_unit::bytes ? 2 : 10;
}

bool can_be_shown(const plot_point& p) {
  return std::isfinite(p.x) && std::isfinite(p.y) && p.x > 0 && p.y > 0;
}

struct range {
  double low = 0;
  double high = 0;
};

class picture {
 public:
  explicit picture(const plot_data& data)
      : data_(data), x_base_(base_of(data.x_unit)), y_base_(base_of(data.y_unit)) {
    bool first = true;
    for (const auto& series : data.series)
      for (const auto& p : series.points) {
        if (!can_be_shown(p)) continue;
        const double x = x_of(p), y = y_of(p);
        if (first) x_ = {x, x}, y_ = {y, y};
        first = false;
        x_ = {std::min(x_.low, x), std::max(x_.high, x)};
        y_ = {std::min(y_.low, y), std::max(y_.high, y)};
      }
    // Whole powers at the ends; never an empty range.
    x_ = {std::floor(x_.low), std::max(std::ceil(x_.high), std::floor(x_.low) + 1)};
    y_ = {std::floor(y_.low), std::max(std::ceil(y_.high), std::floor(y_.low) + 1)};
  }

  std::string draw() const {
    std::string out = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n",
        width, height, width, height);
    out += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    out += "<g font-size=\"15\">" + label(left, top - 20, "start", data_.title) + "</g>\n";
    out += axes();
    for (std::size_t i = 0; i < data_.series.size(); ++i) out += curve(i);
    return out + "</svg>\n";
  }

 private:
  double x_of(const plot_point& p) const { return std::log2(p.x) / std::log2(x_base_); }
  double y_of(const plot_point& p) const { return std::log2(p.y) / std::log2(y_base_); }
  double at_x(double log_x) const {
    return left + (log_x - x_.low) / (x_.high - x_.low) * (width - left - right);
  }
  double at_y(double log_y) const {
    return height - bottom - (log_y - y_.low) / (y_.high - y_.low) * (height - top - bottom);
  }

  std::string axes() const {
    std::string out;
    const double step = std::max(1.0, std::ceil((x_.high - x_.low) / 10));
    for (double x = x_.low; x <= x_.high; x += step) {
      out += line(at_x(x), top, at_x(x), height - bottom, "#e4e4e4");
      out += label(at_x(x), height - bottom + 18, "middle",
                   text_of(data_.x_unit, std::pow(x_base_, x)));
    }
    for (double y = y_.low; y <= y_.high; ++y) {
      out += line(left, at_y(y), width - right, at_y(y), "#c8c8c8");
      out += label(left - 8, at_y(y) + 4, "end", text_of(data_.y_unit, std::pow(y_base_, y)));
      for (int k = 2; k < y_base_ && y < y_.high; ++k)
        out += line(left, at_y(y + std::log10(k)), width - right, at_y(y + std::log10(k)),
                    "#f0f0f0");
    }
    out += line(left, top, left, height - bottom, "#444444");
    out += line(left, height - bottom, width - right, height - bottom, "#444444");
    return out + label((left + width - right) / 2, height - 16, "middle", data_.x_name);
  }

  std::string curve(std::size_t index) const {
    const auto& series = data_.series[index];
    const char* colour = colours[index % std::size(colours)];
    // The second time round the colours, lines are dashed.
    const bool dashed = index / std::size(colours) % 2 == 1;
    std::string path, dots;
    for (const auto& p : series.points) {
      if (!can_be_shown(p)) continue;
      const double x = at_x(x_of(p)), y = at_y(y_of(p));
      path += format("%s%.1f,%.1f", path.empty() ? "" : " ", x, y);
      dots += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", x, y);
    }
    const double key_x = width - right + 16;
    const double key_y = top + 8 + legend_line * static_cast<double>(index);
    std::string out = format("<g stroke=\"%s\" stroke-width=\"2\" fill=\"none\"%s>\n", colour,
                             dashed ? " stroke-dasharray=\"5 3\"" : "");
    out += "<polyline points=\"" + path + "\"/>\n";
    out += line(key_x, key_y, key_x + 24, key_y, colour) + "</g>\n";
    out += format("<g fill=\"%s\">\n", colour) + dots + "</g>\n";
    return out + label(key_x + 32, key_y + 4, "start", series.name);
  }

  const plot_data& data_;
  double x_base_;
  double y_base_;
  range x_;
  range y_;
};

}  // namespace

std::string plot_svg(const plot_data& data) {
  return picture(data).draw();
}

runtime::expected<plot_data> parse_plot(const std::string& text) {
  const auto bad = [](const std::string& subject) {
    return runtime::fail(runtime::errc::invalid_argument,
                         subject + "; see tidegate bench plot --help");
  };
  const auto root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object() || !root.contains("series") || !root["series"].is_array())
    return bad("no object with a list named series");
  plot_data data;
  if (root.contains("title") && root["title"].is_string()) data.title = root["title"];
  for (const auto& entry : root["series"]) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() ||
        !entry.contains("points") || !entry["points"].is_array())
      return bad("a series without name or points");
    auto& series = data.series.emplace_back();
    series.name = entry["name"];
    for (const auto& p : entry["points"]) {
      if (!p.is_array() || p.size() != 2 || !p[0].is_number() || !p[1].is_number())
        return bad("series " + series.name + ": a point is no pair of numbers");
      series.points.push_back({p[0], p[1]});
    }
  }
  return data;
}

}  // namespace tidegate::bench
