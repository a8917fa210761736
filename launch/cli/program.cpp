#include "launch/cli/program.hpp"

#include <iostream>

#include "launch/agents/engine.hpp"
#include "launch/agents/host_main.hpp"
#include "launch/cli/cancel.hpp"
#include "launch/cli/clocks.hpp"
#include "launch/cli/command_line.hpp"
#include "launch/cli/export_model.hpp"
#include "launch/cli/list_runs.hpp"
#include "launch/cli/logs.hpp"
#include "launch/cli/node_main.hpp"
#include "launch/cli/scale.hpp"
#include "launch/cli/status.hpp"
#include "launch/cli/stop.hpp"
#include "launch/cli/trace.hpp"
#include "launch/cli/why.hpp"
#include "launch/config/read_spec.hpp"
#include "launch/config/write_yaml.hpp"
#include "launch/page/view.hpp"
#include "launch/plan/environment.hpp"
#include "launch/plan/plan.hpp"
#include "launch/processes/limits.hpp"
#include "launch/run/launcher.hpp"
#include "launch/run/resume.hpp"
#include "launch/submit/submit.hpp"
#include "launch/top/top.hpp"

namespace tidegate::launch {

namespace {

int exit_with(exit_code code) {
  return static_cast<int>(code);
}

runtime::expected<policies::cluster_spec> cluster_on_engine(
    const command_line& line, const policies::cluster_spec& spec) {
  if (line.kind == command_kind::plan && (!line.engine.empty() || line.nodes > 0))
    return as_if_on_engine(spec, line.nodes);
  return on_engine(spec, parse_environment(environ));
}

int run_on_file(const command_line& line, const services& cluster) {
  auto sets = line.sets;
  if (!line.engine.empty()) sets.push_back("cluster.engine=" + line.engine);
  const auto read = load_cluster_file(line.file, sets);
  if (!read) {
    // Bare lines `file:line:column: ...`, so that editors can jump to them.
    std::cerr << read.error().message() << "\n";
    return exit_with(exit_code::bad_usage);
  }
  auto spec = cluster_on_engine(line, read->spec);
  if (!spec) {
    std::cerr << line.file << ": " << spec.error().message() << "\n";
    if (line.kind == command_kind::launch) return exit_with(exit_code::bad_usage);
    spec = read->spec;  // what can be said without the engine
  }
  if (auto fits = check_limits_of_this_machine(*spec); !fits.ok()) {
    std::cerr << line.file << ": " << fits.message() << "\n";
    return exit_with(exit_code::bad_usage);
  }
  if (auto fits = check_memory_of_this_machine(*spec); !fits.ok()) {
    std::cerr << line.file << ": " << fits.message() << "\n";
    if (line.kind == command_kind::launch) return exit_with(exit_code::bad_usage);
  }
  if (auto has = check_device_of_this_machine(*spec); !has.ok()) {
    std::cerr << line.file << ": " << has.message() << "\n";
    if (line.kind == command_kind::launch) return exit_with(exit_code::bad_usage);
  }
  if (auto has = check_plugins_of_this_machine(*spec); !has.ok()) {
    std::cerr << line.file << ": cluster.plugins: " << has.message() << "\n";
    if (line.kind == command_kind::launch) return exit_with(exit_code::bad_usage);
  }
  if (line.kind == command_kind::launch) {
    return exit_with(
        launch_cluster({.spec = *spec, .otlp = read->otlp},
                       {.run_dir = line.run_dir,
                        .follow = line.follow,
                        .run_dir_file = line.run_dir_file,
                        .before_engine = read->spec.engine == policies::engine_kind::local
                                             ? std::string()
                                             : write_yaml(read->spec, read->otlp),
                        .goes_on = line.goes_on,
                        .patience_ms = line.patience_ms,
                        .trace = line.output},
                       cluster));
  }
  const auto plan = make_plan(*spec);
  if (line.kind == command_kind::plan) {
    std::cout << (line.json ? plan_json(plan) : plan_text(plan));
  } else {
    std::cout << line.file << ": ok, " << plan.jobs.size()
              << (plan.jobs.size() == 1 ? " job, " : " jobs, ") << plan.processes.size()
              << " processes\n";
  }
  return exit_with(exit_code::done);
}

int run_export(const command_line& line) {
  const export_options options{.run_dir = line.file,
                               .job = line.job,
                               .output = line.output,
                               .checkpoint = line.checkpoint,
                               .since = line.since};
  const auto result = line.list ? list_checkpoints(options, std::cout)
                                : export_model(options, std::cout, std::cerr);
  if (result.ok()) return exit_with(exit_code::done);
  std::cerr << "tidegate: " << result.message() << "\n";
  return exit_with(result.code() == runtime::errc::invalid_argument ? exit_code::bad_usage
                                                                    : exit_code::job_failed);
}

int show_help(const command_line& line) {
  const auto text = help_of(line);
  if (!text) {
    std::cerr << "tidegate: " << text.error().message() << "\n";
    return exit_with(exit_code::bad_usage);
  }
  std::cout << *text;
  return exit_with(exit_code::done);
}

}  // namespace

int run_program(const std::vector<std::string>& args, const services& cluster) {
  const auto line = parse_command_line(args);
  if (!line) {
    std::cerr << "tidegate: " << line.error().message() << "\n";
    return exit_with(exit_code::bad_usage);
  }
  switch (line->kind) {
    case command_kind::help:
      return show_help(*line);
    case command_kind::version:
      std::cout << "tidegate " << TIDEGATE_VERSION << "\n";
      return exit_with(exit_code::done);
    case command_kind::node_coordinator:
    case command_kind::node_shard:
    case command_kind::node_replica:
    case command_kind::node_aggregator:
      return node_main(*line, cluster);
    case command_kind::host:
      return exit_with(host_main(cluster.agents));
    case command_kind::submit:
      return exit_with(submit_to_slurm({.file = line->file,
                                        .sets = line->sets,
                                        .run_dir = line->run_dir,
                                        .nodes = line->nodes,
                                        .time = line->time,
                                        .sbatch_options = line->sbatch,
                                        .dry_run = line->dry_run}));
    case command_kind::export_model:
      return run_export(*line);
    case command_kind::scale:
      return exit_with(scale_run(*line));
    case command_kind::cancel:
      return exit_with(cancel_job(*line));
    case command_kind::status:
      return exit_with(show_status(*line));
    case command_kind::logs:
      return exit_with(show_logs(*line));
    case command_kind::list_runs:
      return exit_with(list_runs(*line));
    case command_kind::stop:
      return exit_with(stop_run(*line));
    case command_kind::top:
      return exit_with(show_top(line->file));
    case command_kind::why:
      return exit_with(explain(*line));
    case command_kind::trace:
      return exit_with(trace_run(*line));
    case command_kind::clocks:
      return exit_with(show_clocks(*line));
    case command_kind::view:
      return exit_with(view_run(line->file, line->address));
    case command_kind::launch:
      if (!line->resume.empty())
        return exit_with(resume_cluster(
            line->resume, cluster,
            {.follow = line->follow, .patience_ms = line->patience_ms, .trace = line->output}));
      [[fallthrough]];
    case command_kind::validate:
    case command_kind::plan:
      return run_on_file(*line, cluster);
  }
  return exit_with(exit_code::bad_usage);
}

}  // namespace tidegate::launch
