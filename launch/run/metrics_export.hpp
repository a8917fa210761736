// Sends the metrics of a run to a collector of OpenTelemetry (otlp in the cluster file). The
// main thread hands it views; a thread of its own writes each as a document and sends it. There
// is one request at a time, and what it could not send is not sent again: the next view has
// newer values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "launch/config/otlp_spec.hpp"
#include "launch/config/read_spec.hpp"
#include "launch/run/run_monitor.hpp"
#include "launch/run/run_status.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class metrics_export {
 public:
  // Null: the file names no collector. Nothing is sent yet. Errors: those of http_post::open()
  // and read_headers(); not_found (no such certificates); unavailable (no thread).
  static runtime::expected<std::unique_ptr<metrics_export>> open(
      const std::optional<otlp_spec>& spec);
  // Gives up what is under way.
  ~metrics_export();
  metrics_export(const metrics_export&) = delete;
  metrics_export& operator=(const metrics_export&) = delete;

  // Returns true if show() is to be called: a view is due, and nothing is under way.
  bool is_due(std::int64_t now) const;
  void show(std::int64_t now, run_view view);
  // Sends a last view, in place of what is under way. Returns when it has been sent, or after
  // two seconds, of which the end of what was under way may make three.
  void conclude(run_view last);

  // What is to be told: that sending fails, and why, or that it works again. Each is told when
  // it changes, and not for each request.
  struct news {
    bool is_lost = false;
    std::string detail;
  };
  std::optional<news> take_news();

  const otlp_spec& spec() const noexcept { return spec_; }

 private:
  struct worker;
  explicit metrics_export(otlp_spec spec);

  otlp_spec spec_;
  std::int64_t shown_at_ = 0;
  std::unique_ptr<worker> worker_;
};

// By which a run is watched from elsewhere; each null where the file does not ask for it.
struct run_outlets {
  std::unique_ptr<run_monitor> monitor;
  std::unique_ptr<metrics_export> metrics;
  std::string trace = {};  // the file that gets a trace of the end; empty: none does

  // Errors: those of run_monitor::open() and metrics_export::open().
  static runtime::expected<run_outlets> open(const cluster_file& file, const page_maker& page);
};

}  // namespace tidegate::launch
