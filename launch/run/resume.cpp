#include "launch/run/resume.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <unistd.h>
#include <utility>

#include "launch/agents/engine.hpp"
#include "launch/config/read_spec.hpp"
#include "launch/config/write_yaml.hpp"
#include "launch/plan/origin.hpp"
#include "launch/plan/run_paths.hpp"
#include "launch/processes/leftovers.hpp"
#include "launch/processes/limits.hpp"
#include "launch/run/going_on.hpp"
#include "launch/run/launcher.hpp"
#include "launch/run/patience.hpp"
#include "launch/run/result.hpp"
#include "launch/text/files.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/resume.hpp"
#include "runtime/objects/open_storage.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using runtime::errc;
using runtime::expected;
using runtime::status;

exit_code refuse(const status& why) {
  std::cerr << "tidegate: " << why.message() << "\n";
  return code_of(why);
}

struct claimed_run {
  run_folder folder;
  policies::resume_plan plan;
};

// Nothing is made in a folder of no run.
expected<claimed_run> claim(const std::string& run_dir, std::uint32_t patience_ms) {
  policies::run_remains remains;
  std::error_code error;
  remains.has_spec = fs::exists(run_dir + "/cluster.yaml", error) &&
                     fs::exists(run_dir + "/origin.json", error);
  auto folder = remains.has_spec ? run_folder::reopen(run_dir, patience_ms)
                                 : expected<run_folder>(runtime::fail(errc::not_found, ""));
  remains.has_launcher = !folder && folder.error().code() == errc::already_exists;
  if (!folder && remains.has_spec && !remains.has_launcher)
    return runtime::fail(folder.error());
  if (folder) {
    const auto epoch = folder->last_epoch();
    if (!epoch) return runtime::fail(epoch.error());
    remains.last_epoch = *epoch;
    if (const auto text = read_file(folder->path() + "/result.json"))
      remains.exit_code = exit_code_of(*text);
  }
  auto plan = policies::plan_resume(remains, run_dir);
  if (!plan) return runtime::fail(plan.error());
  return claimed_run{std::move(*folder), *plan};
}

// What an earlier life left behind must not meet the one that begins.
status clear(const run_folder& folder, const origin& from) {
  auto earlier = read_earlier_launch(folder.path());
  // A launcher that died before it wrote that had started nobody, and what a crash of the
  // machine has spoilt is of processes that are gone with it.
  const auto why = earlier ? errc::ok : earlier.error().code();
  if (!earlier && why != errc::not_found && why != errc::corrupt) return earlier.error();
  if (earlier) {
    earlier->run_dirs.push_back(from.run_dir);
    if (const auto ended = end_leftovers(*earlier); !ended) return ended.error();
  }
  std::error_code error;
  fs::remove(folder.path() + "/result.json", error);
  if (error) return {errc::io_error, folder.path() + "/result.json: " + error.message()};
  return folder.write("pids.json", "[]\n");
}

// Takes the claims, and puts the epoch on record, or one that is higher than any there.
expected<std::uint32_t> record_epoch(run_folder& folder, checkpoint_claims claims,
                                     std::uint32_t epoch) {
  epoch = std::max(epoch, claims.last_epoch() + 1);
  auto recorded = folder.adopt(std::move(claims));
  if (recorded.ok()) recorded = folder.record_epoch(epoch);
  if (!recorded.ok()) return runtime::fail(std::move(recorded));
  return epoch;
}

// The cluster as it was; or on the hosts that its engine has now.
expected<cluster_file> cluster_of(const run_folder& folder) {
  const auto before = folder.path() + "/" + engine_file;
  std::error_code error;
  if (!fs::exists(before, error)) return load_cluster_file(folder.path() + "/cluster.yaml", {});
  auto file = load_cluster_file(before, {});
  if (!file) return file;
  auto spec = on_engine(file->spec, parse_environment(environ));
  if (!spec) return runtime::fail(spec.error());
  file->spec = std::move(*spec);
  if (auto written = folder.write("cluster.yaml", write_yaml(file->spec, file->otlp));
      !written.ok())
    return runtime::fail(std::move(written));
  return file;
}

exit_code go_on(claimed_run run, const services& cluster, const resume_options& options) {
  const auto path = run.folder.path();
  const auto file = cluster_of(run.folder);
  if (!file) return refuse(file.error());
  const auto* spec = &file->spec;
  if (auto known = await_names(*spec, options.patience_ms); !known.ok()) return refuse(known);
  if (auto fits = check_limits_of_this_machine(*spec); !fits.ok()) return refuse(fits);
  if (auto fits = check_memory_of_this_machine(*spec); !fits.ok()) return refuse(fits);
  if (auto has = check_device_of_this_machine(*spec); !has.ok()) return refuse(has);
  const auto from = read_origin(path);
  if (!from) return refuse(from.error());
  if (::chdir(from->folder.c_str()) != 0)
    return refuse({errc::not_found,
                   "the folder that the run was launched from is not there, "
                   "and its commands may be relative to it: " +
                       from->folder});
  // Their paths may be relative to it, too.
  if (auto has = check_plugins_of_this_machine(*spec); !has.ok()) return refuse(has);
  const auto programs = run_programs::find(*spec, parse_environment(environ));
  if (!programs) return refuse(programs.error());
  auto outlets = run_outlets::open(*file, cluster.page);
  if (!outlets) return refuse(outlets.error());
  auto claims = checkpoint_claims::open(*spec, policies::claim_wish::resume, from->run,
                                        options.patience_ms);
  if (!claims) return refuse(claims.error());
  if (auto cleared = clear(run.folder, *from); !cleared.ok()) return refuse(cleared);
  const auto epoch = record_epoch(run.folder, std::move(*claims), run.plan.epoch);
  if (!epoch) return refuse(epoch.error());
  const auto cancelled = run.folder.cancelled_jobs();
  if (!cancelled) return refuse(cancelled.error());
  const auto places = places_of_jobs(*spec, path, *cancelled);
  if (!places) return refuse(places.error());
  if (auto recorded = run.folder.record_run(spec->name); !recorded.ok())
    return refuse(recorded);
  run_journal journal(std::move(run.folder), ::isatty(STDOUT_FILENO) != 0);
  journal.event("run_resumed", "epoch " + std::to_string(*epoch));
  journal.screen().print("cluster " + spec->name + " goes on (epoch " + std::to_string(*epoch) +
                         "), run folder " + journal.folder().shown());
  for (const auto& place : *places) {
    journal.event("job_resumed", place);
    journal.screen().print(place);
  }
  outlets->trace = options.trace;
  return carry_out(*spec, cluster, *programs, journal, *epoch, options.follow,
                   std::move(*outlets));
}

}  // namespace

bool has_checkpoint(const policies::job_spec& job, const std::string& run_dir) {
  if (!job.checkpoint) return false;
  const auto storage = runtime::open_storage(policies::checkpoint_folder(job, run_dir),
                                             {.patience = runtime::object_patience::brief});
  if (!storage) return false;
  const auto ids = policies::checkpoint_catalog(**storage).ids();
  return ids && !ids->empty();
}

exit_code resume_cluster(const std::string& run_dir, const services& cluster,
                         const resume_options& options) {
  auto run = claim(run_dir, options.patience_ms);
  if (!run) return refuse(run.error());
  if (!run->plan.is_done) return go_on(std::move(*run), cluster, options);
  std::cout << "run folder " << run_dir
            << ": the run is done already, nothing is started; its results are in "
               "result.json\n";
  return exit_code::done;
}

}  // namespace tidegate::launch
