// The world as the launcher's shell sees it: processes, the coordinator, the run folder. A
// launcher's main thread is one adapter, the simulator another; neither decides anything. One
// thread; nothing here waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/shell/poll_shell.hpp"
#include "policies/launcher/core.hpp"
#include "policies/supervision/hang_detector.hpp"
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
  };
  kind about = kind::leave;
  policies::process_name name;
  std::uint32_t incarnation = 0;
  std::uint32_t number = 0;
};

// A process of the run: the incarnation that a decision is about.
struct launched_process {
  policies::process_number process = 0;
  std::uint32_t incarnation = 1;
};

class run_port {
 public:
  virtual ~run_port() = default;

  // Starts a process, or hands it to the spare that is named, if that lives; its end comes in
  // run_turn::ends. Returns its name in the journal. Errors: the reason why it cannot be
  // started.
  virtual runtime::expected<std::string> spawn(
      const policies::launch_effects::start& start) = 0;
  // Starts a process that waits for a place, or has a spare copy itself; run_turn::spares_ready
  // and spare_ends tell how it goes on, until spawn() has handed it over. Errors: as spawn().
  virtual runtime::status spawn_spare(const policies::launch_effects::start_spare& start) = 0;
  // Ends a spare by force; nothing where it has ended, or is no spare any more.
  virtual void end_spare(policies::spare_number spare) = 0;
  // Asks that incarnation of a process to end, or ends it; nothing where it has ended.
  virtual void end(const launched_process& process, bool by_force) = 0;
  // Returns how often each process that lives has beaten.
  virtual std::vector<policies::beat_reading> beats() = 0;

  // Begins to talk to the coordinator that is ready, as poll_shell does; what was said to the
  // one before is over.
  virtual void watch() = 0;
  virtual void unwatch() = 0;
  virtual bool watches() const = 0;
  virtual void poll_now() = 0;
  // Returns the question's number in poll_news::answers.
  virtual std::uint64_t ask(const launch_question& question) = 0;
  virtual void finish(poll_shell::job_failures failures) = 0;

  // The run folder. An epoch on record survives a crash of the machine. Errors: those of
  // storages.
  virtual runtime::status record_epoch(std::uint32_t epoch) = 0;
  virtual void event(const std::string& name, const std::string& detail) = 0;
  // Writes down the processes that live now: a launcher that resumes the run ends those that
  // are left. Errors: the file is as it was, and this is called again in the next turn.
  virtual runtime::status write_pids() = 0;

  // For people.
  virtual void complain(const std::string& text) = 0;
  virtual void show_log(policies::process_number process) = 0;
  // Answers a request for other numbers of workers or shards: "ok", "error ...".
  virtual void answer(std::uint32_t asker, const std::string& line) = 0;
};

}  // namespace tidegate::launch
