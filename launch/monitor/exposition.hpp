// Metrics as scrapers read them: the Prometheus text format 0.0.4 and OpenMetrics 1.0.0, which
// differ in how counters are named and in how a text ends. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidegate::launch {

enum class exposition_format : std::uint8_t { prometheus, openmetrics };

// Returns the value of Content-Type.
std::string_view content_type(exposition_format format) noexcept;
// Returns the format that a scraper with this Accept header wants.
exposition_format wanted_format(std::string_view accept) noexcept;

// An info is a gauge of 1 whose labels say something.
enum class metric_kind : std::uint8_t { counter, gauge, info };

using metric_labels = std::vector<std::pair<std::string_view, std::string>>;

// Writes metric families one after the other, each with all of its samples.
class exposition {
 public:
  explicit exposition(exposition_format format) : format_(format) {}

  // Begins a family. `name` is without "_total" of a counter and "_info" of an info, which its
  // samples get. `help` is a sentence without its end.
  void family(std::string_view name, metric_kind kind, std::string_view help);
  // Adds a sample to it. Values that are not finite are written as NaN and +Inf, -Inf.
  void sample(const metric_labels& labels, double value);
  // Ends the text.
  std::string finish();

 private:
  exposition_format format_;
  std::string name_;  // of the samples of this family
  std::string text_;
};

}  // namespace tidegate::launch
