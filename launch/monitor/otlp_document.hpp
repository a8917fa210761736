// Metrics as collectors of OpenTelemetry take them: an ExportMetricsServiceRequest of OTLP 1,
// in its JSON encoding.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "launch/monitor/metric_sink.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Since when each counter counts. One that is smaller than before has begun anew, and says so
// to its reader by a later start. One thread; as many entries as counters have had labels.
class counter_starts {
 public:
  // `begin`: when the first of them began, in nanoseconds since 1970.
  explicit counter_starts(std::int64_t begin) : begin_(begin) {}
  // Returns the start of a counter that has this value now.
  std::int64_t start_of(const std::string& series, double value, std::int64_t unix_ns);

 private:
  struct seen {
    double value = 0;  // when it was last looked at
    std::int64_t unix_ns = 0;
    std::int64_t start = 0;
  };
  std::int64_t begin_;
  std::map<std::string, seen> known_;
};

// Whose metrics they are: the attributes of the resource.
struct otlp_resource {
  std::string cluster;
  std::string version;   // of the launcher
  std::string instance;  // tells this run from all others
  std::string host;      // of the launcher
};

// One thread.
class otlp_document final : public metric_sink {
 public:
  // `starts` outlives it. `unix_ns`: when the values were so.
  otlp_document(otlp_resource of, counter_starts& starts, std::int64_t unix_ns);

  // Families without a sample are left out. Counters are monotonic cumulative sums, and the
  // names of infos end in "_info".
  void family(std::string_view name, metric_kind kind, std::string_view help) override;
  void sample(const metric_labels& labels, double value) override;
  // Ends the document.
  std::string finish();

 private:
  void end_family();

  otlp_resource resource_;
  counter_starts& starts_;
  std::int64_t unix_ns_;
  bool is_counter_ = false;
  nlohmann::ordered_json metric_;  // of the family that is written, without its points
  nlohmann::ordered_json points_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json metrics_ = nlohmann::ordered_json::array();
};

// Returns what a collector that has answered well says of points that it has not taken. Pure,
// any thread. Errors: refused (so many, and why).
runtime::status refusal_of(const std::string& answer);

}  // namespace tidegate::launch
