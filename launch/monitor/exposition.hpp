// Metrics as scrapers read them: the Prometheus text format 0.0.4 and OpenMetrics 1.0.0, which
// differ in how counters are named and in how a text ends. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launch/monitor/metric_sink.hpp"

namespace tidegate::launch {

enum class exposition_format : std::uint8_t { prometheus, openmetrics };

// Returns the value of Content-Type.
std::string_view content_type(exposition_format format) noexcept;
// Returns the format that a scraper with this Accept header wants.
exposition_format wanted_format(std::string_view accept) noexcept;

class exposition final : public metric_sink {
 public:
  explicit exposition(exposition_format format) : format_(format) {}

  // Samples of a counter get "_total", those of an info "_info".
  void family(std::string_view name, metric_kind kind, std::string_view help) override;
  // Values that are not finite are written as NaN and +Inf, -Inf.
  void sample(const metric_labels& labels, double value) override;
  // Ends the text.
  std::string finish();

 private:
  exposition_format format_;
  std::string name_;  // of the samples of this family
  std::string text_;
};

}  // namespace tidegate::launch
