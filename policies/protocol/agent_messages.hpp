// What the launcher and the agent of a host say to each other: orders to start and end
// processes, and reports of what has become of them. Plain values.
//
//   agent                              launcher
//     hello ------------------------->            over each new connection
//                <------------------- welcome     if another launcher is followed, or none: the
//     hello ------------------------->            agent ends all, and says hello anew
//                <------------------- welcome
//                <------------------- orders      each taken once, in order, as are reports
//     reports ----------------------->            (message_stream.hpp)
//
// Or the launcher has started another agent, and dismisses this one. A launcher that is started
// anew is another one; so is one that has given a host up and uses it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policies/model/process_exit.hpp"
#include "policies/model/process_name.hpp"
#include "policies/model/state_image.hpp"
#include "runtime/base/trace_span.hpp"

namespace tidegate::policies {

// A process of the run: the incarnation that an order or a report is about.
struct launched_process {
  process_number process = 0;
  std::uint32_t incarnation = 1;

  friend bool operator==(const launched_process&, const launched_process&) = default;
};

// Ends a process by its leave or by force, stops it, or has it go on.
enum class process_signal : std::uint8_t { terminate, kill, stop, go_on };

// How hosts find out which of them reach each other: an agent listens for those of others,
// connects to theirs, and listens no longer.
enum class survey_step : std::uint8_t { listen, reach, end };

// Where the agent of another host listens, at the address of that host.
struct survey_peer {
  host_number host = 0;
  std::uint16_t port = 0;
};
// The same, of an agent whose address is known.
struct peer_place {
  host_number host = 0;
  std::string address;  // or a name
  std::uint16_t port = 0;
};
// A host whose agent did not answer there, or did not prove that it is of this run.
struct unreached_host {
  host_number host = 0;
  std::string why;
  std::string address = {};  // that was tried; empty in a report
};

namespace agent_orders {

// Start a process; answered by `started` or `not_started`. Where a spare is named it becomes
// this process; one that cannot (it has just ended) is passed over, and a process started.
struct start {
  launched_process process;
  process_name name;
  std::uint32_t epoch = 1;
  bool joins = false;  // a worker that its job goes on with anew: it keeps nothing of before
  // It was on another host the last time, or this one was lost since: what it has kept here is
  // out of date.
  bool moved = false;
  // What the launcher keeps of the state of a worker that has moved.
  std::optional<state_image> state = {};
  spare_number spare = no_spare;
  // Where the coordinator of this epoch listens; 0: it has not said so.
  std::uint16_t coordinator_port = 0;

  // Returns true if nothing that the process may have kept before counts: it joins, or no
  // launcher and no process of its name was there before.
  bool has_no_past() const noexcept {
    return joins || (epoch == 1 && process.incarnation == 1);
  }
};
// Start a process of the job's program that waits for a place; or have a spare that can make
// copies of itself make one. `spare_ready` or `spare_ended` follows.
struct start_spare {
  spare_number spare = no_spare;
  std::string job;
  std::uint32_t rank = 0;  // of a worker of this host
  spare_number copy_of = no_spare;
};
// End the spare by force.
struct end_spare {
  spare_number spare = no_spare;
};
// To that incarnation of a process and all that it has started; nothing happens where it has
// ended.
struct signal {
  launched_process process;
  process_signal content = process_signal::terminate;
};
// The launcher has what the worker has asked to be copied, up to this request.
struct state_mirrored {
  launched_process process;
  std::uint64_t number = 0;
};
// A step of a survey; `surveyed` answers all but the last.
struct survey {
  std::uint32_t number = 0;  // of the survey
  survey_step step = survey_step::listen;
  std::vector<survey_peer> peers = {};  // to reach
};
// Tell what processes have noted of what they did; answered by `spans`.
struct tell_spans {
  std::uint32_t number = 0;  // of the question
  std::uint32_t most = 0;    // spans, of all processes together
};
// The run is over: end all, and go.
struct leave {};

}  // namespace agent_orders

using agent_order =
    std::variant<agent_orders::start, agent_orders::start_spare, agent_orders::end_spare,
                 agent_orders::signal, agent_orders::state_mirrored, agent_orders::survey,
                 agent_orders::tell_spans, agent_orders::leave>;

namespace agent_reports {

struct started {
  launched_process process;
  std::int64_t pid = 0;
  std::uint64_t started_at = 0;  // as the kernel of the host counts it
  bool was_spare = false;
};
struct not_started {
  launched_process process;
  std::string why;
};
struct ended {
  launched_process process;
  process_exit exit;
};
// It has shown no sign of life for so long.
struct hangs {
  launched_process process;
  std::int64_t silent_ns = 0;
};
// The coordinator says at which port it listens, or (port 0) why it is of no use.
struct listens {
  launched_process process;
  std::uint16_t port = 0;
  std::string unusable;
};
struct spare_ready {
  spare_number spare = no_spare;
  bool can_copy = false;
};
struct spare_ended {
  spare_number spare = no_spare;
  std::string why;
};
// What a process has written into its log, which the launcher does not see. `writer`: as the
// log is named, "worker-mlp-3".
struct logged {
  std::string writer;
  std::string text;
};
// What a worker asks to be copied of its state; answered by `state_mirrored`.
struct state {
  launched_process process;
  std::uint64_t number = 0;  // of the request
  state_image image;
};
// What has come of a step of a survey.
struct surveyed {
  std::uint32_t number = 0;  // of the survey
  survey_step step = survey_step::listen;
  std::uint16_t port = 0;  // where it listens; 0: it cannot, and `why` says why
  std::string why = {};
  std::vector<unreached_host> unreached = {};  // of those that it was to reach
};
// What a process has noted of what it did; where there is too much, the last of it.
struct spans {
  std::uint32_t number = 0;  // of the question
  std::string writer;        // as its log is named; empty: there is no more
  std::uint32_t incarnation = 1;
  bool is_cut = false;                        // earlier ones are not here
  std::vector<runtime::trace_span> all = {};  // times in nanoseconds since 1970
};
// For the events of the run.
struct noted {
  std::string subject;
  std::string detail;
  bool is_warning = false;  // whoever watches the run is to see it
};

}  // namespace agent_reports

using agent_report =
    std::variant<agent_reports::started, agent_reports::not_started, agent_reports::ended,
                 agent_reports::hangs, agent_reports::listens, agent_reports::spare_ready,
                 agent_reports::spare_ended, agent_reports::logged, agent_reports::state,
                 agent_reports::surveyed, agent_reports::spans, agent_reports::noted>;

// What travels. `taken`: the number of the last message of the other side that was taken.
struct agent_frame {
  struct hello {
    std::uint64_t agent = 0;     // drawn by each agent
    std::uint64_t start = 0;     // as the launcher that has started it said; 0: none has
    std::uint64_t launcher = 0;  // that it follows; 0: none
  };
  struct report {
    std::uint64_t number = 0;
    agent_report content;
  };
  struct sign {};  // of life
  std::uint64_t taken = 0;
  std::variant<hello, report, sign> content;
};

struct launcher_frame {
  struct welcome {
    std::uint64_t launcher = 0;  // drawn by each launcher, for each time it uses the host
  };
  struct dismissal {};
  struct order {
    std::uint64_t number = 0;
    agent_order content;
  };
  struct sign {};
  std::uint64_t taken = 0;
  std::variant<welcome, dismissal, order, sign> content;
};

}  // namespace tidegate::policies
