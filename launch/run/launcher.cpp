#include "launch/run/launcher.hpp"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <unistd.h>
#include <utility>

#include "launch/config/write_yaml.hpp"
#include "launch/plan/environment.hpp"
#include "launch/plan/origin.hpp"
#include "launch/plan/run_paths.hpp"
#include "launch/processes/limits.hpp"
#include "launch/run/checkpoint_claims.hpp"
#include "launch/run/going_on.hpp"
#include "launch/run/patience.hpp"
#include "launch/run/run.hpp"
#include "launch/text/files.hpp"
#include "launch/trace/write_trace.hpp"
#include "policies/placement/memory_needs.hpp"
#include "runtime/base/machine_memory.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/unix_time.hpp"
#include "runtime/device/open/open_device.hpp"
#include "runtime/functions/function_library.hpp"

namespace tidegate::launch {

namespace {

exit_code refuse(const runtime::status& why, exit_code code) {
  std::cerr << "tidegate: " << why.message() << "\n";
  return code;
}

runtime::status write_plan(const run_folder& folder, const cluster_plan& plan) {
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"plan.txt", plan_text(plan)},
        {"plan.json", plan_json(plan)},
        {"pids.json", "[]\n"}}) {
    if (auto written = folder.write(name, text); !written.ok()) return written;
  }
  return {};
}

// What whoever resumes the run begins with; the cluster file last, as it says that a run began.
runtime::status keep_for_later(const run_folder& folder, const cluster_file& file,
                               const std::string& before_engine) {
  std::error_code error;
  const auto here = std::filesystem::current_path(error).string();
  if (error) return {runtime::errc::io_error, "the current folder: " + error.message()};
  auto kept = folder.keep(
      "origin.json",
      origin_json({.folder = here, .run_dir = folder.path(), .run = folder.claims().run()}));
  if (kept.ok() && !before_engine.empty()) kept = folder.keep(engine_file, before_engine);
  return kept.ok() ? folder.keep("cluster.yaml", write_yaml(file.spec, file.otlp)) : kept;
}

// Folders of checkpoints that are this run's, and where its jobs begin: nothing is started yet.
struct beginning {
  checkpoint_claims claims;
  std::vector<std::string> cancelled;
  std::vector<std::string> places;  // a line for each job; empty: all begin
};

runtime::expected<beginning> begin(const policies::cluster_spec& spec,
                                   const launch_options& options) {
  using wish = policies::claim_wish;
  auto claims =
      checkpoint_claims::open(spec, options.goes_on ? wish::go_on : wish::begin,
                              format_token(runtime::draw_number()), options.patience_ms);
  if (!claims) return runtime::fail(claims.error());
  beginning found{.claims = std::move(*claims), .cancelled = {}, .places = {}};
  if (!options.goes_on) return found;
  if (found.claims.is_empty())
    return runtime::fail(runtime::errc::invalid_argument,
                         "--continue: no job names a folder for its checkpoints "
                         "(jobs.*.checkpoint.path), so there is nothing to go on from");
  auto cancelled = found.claims.cancelled_jobs();
  if (!cancelled) return runtime::fail(cancelled.error());
  for (const auto& job : *cancelled)
    if (spec.find_job(job) != nullptr) found.cancelled.push_back(job);
  auto places = places_of_jobs(spec, "", found.cancelled);
  if (!places) return runtime::fail(places.error());
  found.places = std::move(*places);
  return found;
}

// Before anything is started.
runtime::status check_trace(const std::string& to) {
  if (to.empty() || may_write_beside(to)) return {};
  return {runtime::errc::invalid_argument,
          "--trace " + to + ": there is no such folder, or nobody may write there"};
}

void trace_end(run_journal& journal, const std::string& to) {
  const auto written = write_trace(journal.folder().path() + "/" + spans_end, to, std::nullopt);
  if (!written)
    journal.complain("tidegate: no trace: " + written.error().message());
  else if (written->summary.spans == 0)
    journal.complain("tidegate: no trace " + to +
                     ": no process has noted anything (cluster.traces)");
  else
    journal.screen().print("trace " + to + ": " + to_text(written->summary));
}

// So that no other run, and no earlier life of this one, is taken for it.
runtime::status record_beginning(run_folder& folder, const std::string& cluster,
                                 std::uint32_t epoch,
                                 const std::vector<std::string>& cancelled) {
  // Whoever resumes a run without it would begin the same epoch again.
  auto recorded = folder.record_epoch(epoch);
  for (const auto& job : cancelled)
    if (recorded.ok()) recorded = folder.record_cancelled(job);
  return recorded.ok() ? folder.record_run(cluster) : recorded;
}

}  // namespace

exit_code code_of(const runtime::status& why) {
  using runtime::errc;
  const bool usage = why.code() == errc::already_exists || why.code() == errc::not_found ||
                     why.code() == errc::invalid_argument;
  return usage ? exit_code::bad_usage : exit_code::job_failed;
}

runtime::status check_memory_of_this_machine(const policies::cluster_spec& spec) {
  if (spec.memory_check == policies::memory_rule::ignore) return {};
  return policies::check_memory(spec, runtime::machine_memory());
}

// Of other hosts their processes say what is missing.
runtime::status check_device_of_this_machine(const policies::cluster_spec& spec) {
  if (spec.device.empty() || !spec.hosts.empty()) return {};
  return runtime::devices::check_device(spec.device);
}

runtime::status check_plugins_of_this_machine(const policies::cluster_spec& spec) {
  if (!spec.hosts.empty()) return {};
  runtime::function_library library;
  for (const auto& path : spec.plugins)
    if (auto added = library.add_plugin(path); !added.ok()) return added;
  using steps = runtime::plugin_rules::steps;
  for (const auto& job : spec.jobs) {
    // Which tables have the job's is not known yet.
    auto known = library.rules().check(job.optimizer, steps::rows);
    for (const auto& table : job.tables) {
      if (known.ok())
        known = library.rules().check(table.optimizer,
                                      table.has_rows() ? steps::rows : steps::elements);
      for (const auto& segment : table.rows.segments)
        if (known.ok()) known = library.rules().check(segment.optimizer, steps::rows);
    }
    if (!known.ok()) return {known.code(), "job " + job.name + ": " + known.message()};
  }
  return {};
}

exit_code launch_cluster(const cluster_file& file, const launch_options& options,
                         const services& cluster) {
  const auto& spec = file.spec;
  if (auto may = check_trace(options.trace); !may.ok())
    return refuse(may, exit_code::bad_usage);
  const auto programs = run_programs::find(spec, parse_environment(environ));
  if (!programs) return refuse(programs.error(), exit_code::bad_usage);
  if (auto known = await_names(spec, options.patience_ms); !known.ok())
    return refuse(known, code_of(known));
  auto start = begin(spec, options);
  if (!start) return refuse(start.error(), code_of(start.error()));
  auto outlets = run_outlets::open(file, cluster.page);
  if (!outlets) return refuse(outlets.error(), code_of(outlets.error()));
  const auto epoch = start->claims.last_epoch() + 1;
  auto folder =
      run_folder::create(options.run_dir, spec.name, runtime::unix_now() / 1'000'000'000);
  if (!folder) {
    const bool taken = folder.error().code() == runtime::errc::already_exists;
    return refuse(folder.error(), taken ? exit_code::bad_usage : exit_code::job_failed);
  }
  const auto plan = make_plan(spec);
  auto written = write_plan(*folder, plan);
  if (written.ok() && !options.run_dir_file.empty())
    written = write_file_atomically(options.run_dir_file, folder->path() + "\n", 0666);
  if (written.ok()) written = folder->adopt(std::move(start->claims));
  if (written.ok()) written = keep_for_later(*folder, file, options.before_engine);
  if (!written.ok()) return refuse(written, exit_code::job_failed);
  run_journal journal(std::move(*folder), ::isatty(STDOUT_FILENO) != 0);
  journal.event("launched", "cluster " + spec.name);
  if (const auto own = programs->own.user_transports(); !own.empty()) {
    journal.event("user_transports", "UCX_TLS=" + own + " of the environment is kept");
  }
  journal.screen().print("cluster " + spec.name + ": " + std::to_string(plan.processes.size()) +
                         " processes, run folder " + journal.folder().shown());
  for (const auto& place : start->places) {
    journal.event("job_resumed", place);
    journal.screen().print(place);
  }
  if (auto recorded = record_beginning(journal.folder(), spec.name, epoch, start->cancelled);
      !recorded.ok())
    return refuse(recorded, exit_code::job_failed);
  outlets->trace = options.trace;
  return carry_out(spec, cluster, *programs, journal, epoch, options.follow,
                   std::move(*outlets));
}

exit_code carry_out(const policies::cluster_spec& spec, const services& cluster,
                    const run_programs& programs, run_journal& journal, std::uint32_t epoch,
                    bool follow, run_outlets outlets) {
  run current(spec, cluster, programs, journal, epoch);
  if (follow)
    if (const auto followed = current.follow_workers(); !followed.ok())
      journal.complain(followed.message());
  const auto trace = outlets.trace;
  // What an earlier life of the run has left is not its end.
  std::remove((journal.folder().path() + "/" + spans_end).c_str());
  if (!trace.empty()) current.trace_the_end();
  current.show_to(std::move(outlets));
  raise_descriptor_limit(spec);
  const auto code = current.carry_out();
  if (!trace.empty()) trace_end(journal, trace);
  return code;
}

}  // namespace tidegate::launch
