// What processes of a run have noted of what they did (runtime/base/trace_span.hpp), as lines
// of a file: the run's launcher writes them, `tidegate trace` reads them. Pure, any thread.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/base/trace_span.hpp"

namespace tidegate::launch {

struct process_spans {
  std::string writer;  // as its log is named: "worker-mlp-3"
  std::uint32_t incarnation = 1;
  std::string host = {};                        // empty: the launcher's
  bool is_cut = false;                          // earlier ones are not here
  std::vector<runtime::trace_span> spans = {};  // times in nanoseconds since 1970

  friend bool operator==(const process_spans&, const process_spans&) = default;
};

// A file begins with a line of its own. `cause`: why it was written, as people read it.
inline constexpr std::uint32_t spans_version = 3;
// `staleness`: of each job whose policy has one, how far a pull may be behind, in clocks.
using job_staleness = std::map<std::string, std::uint64_t>;
std::string spans_header(std::string_view cause, std::int64_t unix_ns,
                         const job_staleness& staleness);
// One line, with its end.
std::string spans_line(const process_spans& of);

struct spans_file {
  std::string cause;
  std::int64_t unix_ns = 0;
  job_staleness staleness;
  std::vector<process_spans> processes;  // an entry for each line
};
// Errors: invalid_argument (no such file, or of another version; says the line).
runtime::expected<spans_file> read_spans(std::istream& from);

}  // namespace tidegate::launch
