// What processes have noted of what they did, as files of the run folder
// (launch/trace/write_trace.hpp has their names). One thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "launch/run/run_journal.hpp"
#include "launch/shell/span_collector.hpp"
#include "launch/trace/process_spans.hpp"
#include "policies/model/spec.hpp"
#include "policies/protocol/agent_messages.hpp"

namespace tidegate::launch {

class run_traces {
 public:
  // `journal` outlives it.
  run_traces(run_journal& journal, const policies::cluster_spec& spec);

  // As run_port::begin_spans(), add_spans() and end_spans(): of one file after the other.
  void begin(const span_request& wanted);
  void add(const std::string& host, const policies::agent_reports::spans& spans);
  // To whoever has asked: "ok FILE" or "error ...".
  struct answer {
    std::uint32_t asker = 0;
    std::string line;
  };
  std::optional<answer> end();

 private:
  void write(const std::string& text);
  std::string unfinished() const;

  run_journal& journal_;
  job_staleness staleness_;
  span_request wanted_;
  std::string name_;
  std::ofstream file_;
  bool is_open_ = false;
  std::string problem_;  // of the file; empty: all is well
};

}  // namespace tidegate::launch
