#include "launch/monitor/exposition.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "launch/text/printable.hpp"

namespace tidegate::launch {

namespace {

constexpr std::string_view total = "_total";
constexpr std::string_view info = "_info";

// Of a label's value, or of a help text, where quotes stand for themselves.
// Prometheus refuses all of a text that is not UTF-8 somewhere.
void append_escaped(std::string& to, std::string_view text, bool is_label) {
  for (const char c : valid_utf8(text)) {
    if (c == '\\')
      to += "\\\\";
    else if (c == '\n')
      to += "\\n";
    else if (c == '"' && is_label)
      to += "\\\"";
    else
      to += c;
  }
}

void append_number(std::string& to, double value) {
  if (std::isnan(value)) {
    to += "NaN";
  } else if (std::isinf(value)) {
    to += value > 0 ? "+Inf" : "-Inf";
  } else {
    std::array<char, 64> digits{};
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), value);
    to.append(digits.data(), end);
  }
}

}  // namespace

std::string_view content_type(exposition_format format) noexcept {
  return format == exposition_format::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

exposition_format wanted_format(std::string_view accept) noexcept {
  return accept.find("application/openmetrics-text") != std::string_view::npos
             ? exposition_format::openmetrics
             : exposition_format::prometheus;
}

void exposition::family(std::string_view name, metric_kind kind, std::string_view help) {
  const bool is_counter = kind == metric_kind::counter;
  const bool is_info = kind == metric_kind::info;
  const bool is_open = format_ == exposition_format::openmetrics;
  name_ = std::string(name) + std::string(is_counter ? total : is_info ? info : "");
  const auto shown = is_open ? std::string(name) : name_;
  text_ += "# HELP " + shown + " ";
  append_escaped(text_, help, is_open);
  text_ += "\n# TYPE " + shown +
           (is_counter           ? " counter\n"
            : is_info && is_open ? " info\n"
                                 : " gauge\n");
}

void exposition::sample(const metric_labels& labels, double value) {
  text_ += name_;
  char before = '{';
  for (const auto& [name, label] : labels) {
    text_ += before;
    text_.append(name).append("=\"");
    append_escaped(text_, label, true);
    text_ += '"';
    before = ',';
  }
  text_ += labels.empty() ? " " : "} ";
  append_number(text_, value);
  text_ += '\n';
}

std::string exposition::finish() {
  if (format_ == exposition_format::openmetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace tidegate::launch
