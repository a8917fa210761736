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
  for (const auto& entry : lines_)
    out += milliseconds(entry.when) + " ms  " + entry.process + ": " + entry.text + "\n";
  return out;
}

std::string trace::chrome_json() const {
  std::map<std::string, int> rows;
  std::string out = "{\"traceEvents\": [\n";
  for (const auto& entry : lines_) {
    const auto row =
        rows.emplace(entry.process, static_cast<int>(rows.size()) + 1).first->second;
    char when[32];
    std::snprintf(when, sizeof when, "%.3f", static_cast<double>(entry.when) / 1e3);
    out += "{\"ph\": \"i\", \"s\": \"t\", \"pid\": 1, \"tid\": " + std::to_string(row) +
           ", \"ts\": " + when + ", \"name\": " + quoted(entry.text) + "},\n";
  }
  for (const auto& [name, row] : rows)
    out += "{\"ph\": \"M\", \"pid\": 1, \"tid\": " + std::to_string(row) +
           ", \"name\": \"thread_name\", \"args\": {\"name\": " + quoted(name) + "}},\n";
  out +=
      "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": "
      "\"simulated cluster\"}}\n]}\n";
  return out;
}

}  // namespace tidegate::sim
