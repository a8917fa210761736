// The world as the launcher's shell sees it: agents of hosts, the coordinator, the run folder.
// A launcher's main thread is one adapter, the simulator another; neither decides anything. One
// thread; nothing here waits.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "launch/shell/live_process.hpp"
#include "launch/shell/poll_shell.hpp"
#include "launch/shell/span_collector.hpp"
#include "policies/launcher/core.hpp"
#include "policies/launcher/host_contact.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// A question to the coordinator, asked again until it is answered. Asked twice it does the
// same.
struct launch_question {
  enum class kind : std::uint8_t {
    leave,          // the job goes on without this worker
    save,           // one more checkpoint of `name.job`
    scale,          // `number` workers of `name.job` are wanted
    scale_shards,   // `number` slots of shards are
    process_ended,  // `name`, of `incarnation`
    fail_job,       // `name.job` has failed; `why`
  };
  kind about = kind::leave;
  policies::process_name name;
  std::uint32_t incarnation = 0;
  std::uint32_t number = 0;
  std::string why = {};
};

// What has happened to the agent of a host, or to its connection.
struct agent_event {
  // It says something over a connection; the first over each is a hello.
  struct frame {
    policies::agent_connection over = 0;
    policies::agent_frame content;
  };
  struct disconnected {
    policies::agent_connection connection = 0;
  };
  // What was started last as the agent has ended, or could not be started.
  struct ended {
    std::string why;
  };
  // What was started as the agent copies what its host lacks (jobs.*.stage), and says hello
  // when it has all.
  struct copies {};
  policies::host_number host = 0;
  std::variant<frame, disconnected, ended, copies> happened;
};

class run_port {
 public:
  virtual ~run_port() = default;

  // Starts the agent of a host, or ends it by force; agent_event::ended tells of its end.
  virtual void start_agent(const policies::host_effects::start_agent& start) = 0;
  virtual void end_agent(policies::host_number host) = 0;
  // Sends over the connection of an agent, or closes it; nothing where it is closed.
  virtual void send(policies::agent_connection over, const policies::launcher_frame& frame) = 0;
  virtual void close(policies::agent_connection connection) = 0;
  // Returns what has happened since the last call, in its order. An agent in this process may
  // answer within send().
  virtual std::vector<agent_event> take_agent_events() = 0;
  // A process is about to be started; and the coordinator listens at this port.
  virtual void starting(const policies::process_name& name) = 0;
  virtual void coordinator_listens(std::uint16_t port) = 0;

  // Begins to talk to the coordinator that is ready, as poll_shell does; what was said to the
  // one before is over.
  virtual void watch() = 0;
  virtual void unwatch() = 0;
  virtual bool watches() const = 0;
  virtual void poll_now() = 0;
  // Returns the question's number in poll_news::answers.
  virtual std::uint64_t ask(const launch_question& question) = 0;
  virtual void finish(poll_shell::job_failures failures) = 0;

  // The run folder. An epoch on record survives a crash of the machine, as does the name of a
  // cancelled job. Errors: those of storages.
  virtual runtime::status record_epoch(std::uint32_t epoch) = 0;
  virtual runtime::status record_cancelled(const std::string& job) = 0;
  virtual void event(const std::string& name, const std::string& detail,
                     const policies::event_fields& about = {}) = 0;
  // Writes down the processes that live now: a launcher that resumes the run ends those that
  // are left. Errors: the file is as it was, and this is called again in the next turn.
  virtual runtime::status write_pids(const std::vector<live_process>& processes) = 0;

  // For people.
  virtual void complain(const std::string& text) = 0;
  // `writer`: "worker-mlp-3", or "agent-blue" of a host.
  virtual void show_log(const std::string& writer) = 0;
  // Returns the last line that this process has written since it was started, as it may be
  // shown; empty: nothing is here.
  virtual std::string last_line(const std::string& /*writer*/) { return {}; }
  // A process of a host that does not share the run folder has written this; nothing where no
  // log is kept.
  virtual void append_log(const std::string& /*writer*/, const std::string& /*text*/) {}
  // What processes have noted of what they did comes in: a collection begins, a process of a
  // host (empty: the launcher's own) has noted this, and there is no more.
  virtual void begin_spans(const span_request& /*wanted*/) {}
  virtual void add_spans(const std::string& /*host*/,
                         const policies::agent_reports::spans& /*spans*/) {}
  virtual void end_spans() {}
  // Returns true if they are to be collected once every process has ended, too.
  virtual bool traces_end() const { return false; }
  // Answers a request for other numbers of workers or shards, or the end of a job: "ok",
  // "error ...".
  virtual void answer(std::uint32_t asker, const std::string& line) = 0;
};

}  // namespace tidegate::launch
