// What the metrics of a run are written to, whatever the format: family by family, each with
// all of its samples. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidegate::launch {

// An info is a gauge of 1 whose labels say something.
enum class metric_kind : std::uint8_t { counter, gauge, info };

using metric_labels = std::vector<std::pair<std::string_view, std::string>>;

class metric_sink {
 public:
  virtual ~metric_sink() = default;
  metric_sink(const metric_sink&) = delete;
  metric_sink& operator=(const metric_sink&) = delete;

  // Begins a family. `name` is without "_total" of a counter and "_info" of an info. `help` is
  // a sentence without its end.
  virtual void family(std::string_view name, metric_kind kind, std::string_view help) = 0;
  // Adds a sample to it.
  virtual void sample(const metric_labels& labels, double value) = 0;

 protected:
  metric_sink() = default;
};

}  // namespace tidegate::launch
