#include "launch/simulate/cluster/trace.hpp"

#include <cstdio>
#include <map>

namespace tidegate::sim {

namespace {

std::string milliseconds(nanoseconds when) {
  char text[32];
  std::snprintf(text, sizeof text, "%12.6f", static_cast<double>(when) / 1e6);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

}  // namespace

std::string trace::text() const {
  std::string out;
  for (const auto& one : lines_)
    out += milliseconds(one.when) + " ms  " + one.who + ": " + one.what + "\n";
  return out;
}

std::string trace::chrome_json() const {
  std::map<std::string, int> rows;
  std::string out = "{\"traceEvents\": [\n";
  for (const auto& one : lines_) {
    const auto row = rows.emplace(one.who, static_cast<int>(rows.size()) + 1).first->second;
    char when[32];
    std::snprintf(when, sizeof when, "%.3f", static_cast<double>(one.when) / 1e3);
    out += "{\"ph\": \"i\", \"s\": \"t\", \"pid\": 1, \"tid\": " + std::to_string(row) +
           ", \"ts\": " + when + ", \"name\": " + quoted(one.what) + "},\n";
  }
  for (const auto& [who, row] : rows)
    out += "{\"ph\": \"M\", \"pid\": 1, \"tid\": " + std::to_string(row) +
           ", \"name\": \"thread_name\", \"args\": {\"name\": " + quoted(who) + "}},\n";
  out +=
      "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": "
      "\"simulated cluster\"}}\n]}\n";
  return out;
}

}  // namespace tidegate::sim
