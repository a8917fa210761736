// What a running launcher is asked for through its control socket: other numbers of workers and
// shards, jobs that end, how the run goes on, its end. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include "launch/run/control_socket.hpp"
#include "launch/run/run_journal.hpp"
#include "launch/shell/run_shell.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class run_requests {
 public:
  // `spec` outlives it.
  explicit run_requests(const policies::cluster_spec& spec) : spec_(spec) {}

  // Opens the socket in the run's folder. Where none can be, an event says so and nobody asks.
  void listen(run_journal& journal);
  void add_to(std::vector<pollfd>& fds) const;
  // Adds requests that have come since to the turn; those that ask for nothing are answered
  // with an error. Does not block.
  // `status`: says what `tidegate status` is answered with.
  void read(run_turn& into, const std::function<std::string()>& status);
  // As run_port::answer: of a request that was read.
  void answer(std::uint32_t asker, const std::string& line);

 private:
  runtime::status parse(const std::string& line, scale_request& into) const;

  const policies::cluster_spec& spec_;
  std::optional<control_socket> control_;
};

}  // namespace tidegate::launch
