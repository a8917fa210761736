#include "launch/submit/submit.hpp"

#include <filesystem>
#include <iostream>

#include "launch/config/read_spec.hpp"
#include "launch/plan/run_paths.hpp"
#include "launch/processes/find_program.hpp"
#include "launch/processes/output_of.hpp"
#include "launch/submit/slurm_script.hpp"
#include "launch/text/files.hpp"
#include "policies/checkpoint/name.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::launch {

namespace {

namespace fs = std::filesystem;
using runtime::errc;
using runtime::expected;
using runtime::status;

constexpr mode_t private_file = 0600;  // --set may have what is nobody else's business

exit_code refuse(const status& why) {
  std::cerr << "tidegate submit: " << why.message() << "\n";
  return why.code() == errc::io_error ? exit_code::job_failed : exit_code::bad_usage;
}

// A last checkpoint takes cluster.start_timeout at most; then processes end within two seconds.
std::uint32_t save_seconds(const policies::cluster_spec& spec) {
  constexpr std::uint32_t ending_s = 5;
  return (spec.start_timeout_ms + 999) / 1000 + ending_s;
}

void warn_of_lost_work(const policies::cluster_spec& spec) {
  for (const auto& job : spec.jobs)
    if (!job.checkpoint)
      std::cerr << "tidegate submit: job " << job.name << " has no checkpoints (jobs."
                << job.name << ".checkpoint): after the time limit it begins anew\n";
}

std::vector<std::string> named_folders(const policies::cluster_spec& spec) {
  std::vector<std::string> folders;
  for (const auto& job : spec.jobs)
    if (auto folder = policies::named_folder(job); !folder.empty())
      folders.push_back(std::move(folder));
  return folders;
}

expected<slurm_job> plan_job(const submit_options& options) {
  auto sets = options.sets;
  sets.emplace_back("cluster.engine=slurm");
  const auto spec = load_cluster(options.file, sets);
  if (!spec) return runtime::fail(spec.error());
  const auto nodes =
      options.nodes > 0 ? options.nodes : static_cast<std::uint32_t>(spec->hosts.size());
  if (nodes == 0)
    return runtime::fail(errc::invalid_argument,
                         options.file + " names no hosts: say how many nodes, --nodes N");
  if (nodes < spec->hosts.size())
    return runtime::fail(errc::invalid_argument,
                         options.file + " names " + std::to_string(spec->hosts.size()) +
                             " hosts, and --nodes asks for " + std::to_string(nodes));
  std::vector<std::string> hosts;
  for (const auto& host : spec->hosts) hosts.push_back(host.name);
  const auto program = own_program();
  if (!program) return runtime::fail(program.error());
  const auto run_dir = options.run_dir.empty()
                           ? stamped_run_dir(spec->name, runtime::unix_now() / 1'000'000'000)
                           : options.run_dir;
  std::error_code error;
  if (fs::exists(run_dir, error) && !fs::is_empty(run_dir, error))
    return runtime::fail(errc::already_exists,
                         run_dir +
                             " is not empty; if it is of a run that was submitted, sbatch " +
                             run_dir + ".sbatch goes on with it");
  warn_of_lost_work(*spec);
  return slurm_job{.name = spec->name,
                   .program = *program,
                   .file = fs::absolute(options.file, error).lexically_normal().string(),
                   .run_dir = fs::absolute(run_dir, error).lexically_normal().string(),
                   .sets = std::move(sets),
                   .nodes = nodes,
                   .hosts = std::move(hosts),
                   .time = options.time,
                   .save_seconds = save_seconds(*spec),
                   .checkpoint_folders = named_folders(*spec),
                   .options = options.sbatch_options};
}

status write_script(const std::string& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return {errc::io_error, path + ": " + error.message()};
  return write_file_atomically(path, text, private_file);
}

}  // namespace

exit_code submit_to_slurm(const submit_options& options) {
  const auto job = plan_job(options);
  if (!job) return refuse(job.error());
  const auto script = slurm_script(*job);
  if (options.dry_run) {
    std::cout << script;
    return exit_code::done;
  }
  const auto path = job->run_dir + ".sbatch";
  if (const auto written = write_script(path, script); !written.ok()) return refuse(written);
  auto number = output_of({"sbatch", "--parsable", path});
  if (!number) return refuse(number.error());
  std::cout << "job " << number->substr(0, number->find_first_of(";\n")) << " of Slurm, "
            << job->nodes << (job->nodes == 1 ? " node" : " nodes") << "\nrun folder "
            << job->run_dir << "\noutput     " << job->run_dir << ".out\n";
  return exit_code::done;
}

}  // namespace tidegate::launch
