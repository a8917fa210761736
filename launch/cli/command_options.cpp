#include "launch/cli/command_options.hpp"

#include <string>

#include "launch/text/scalars.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

namespace options = boost::program_options;

using adder = options::options_description_easy_init;

void add_sets(adder& add, command_line& into) {
  add("set", options::value(&into.sets)->composing(), "");
  const auto set_device = [&into](const std::string& name) {
    into.sets.push_back("cluster.shards.device=" + name);
  };
  add("device", options::value<std::string>()->notifier(set_device), "");
}

// A node has one process at least.
void add_nodes(adder& add, command_line& into) {
  constexpr auto nodes_max = runtime::limits::workers_max + runtime::limits::shards_max;
  const auto set_nodes = [&into](const std::string& text) {
    const auto number = parse_unsigned(text);
    if (!number || *number == 0 || *number > nodes_max)
      throw options::error("--nodes '" + text + "'; allowed: 1 to " +
                           std::to_string(nodes_max));
    into.nodes = static_cast<std::uint32_t>(*number);
  };
  add("nodes", options::value<std::string>()->notifier(set_nodes), "");
}

void add_patience(adder& add, command_line& into) {
  constexpr std::uint64_t patience_ms_max = 24 * 3'600'000;
  const auto set_patience = [&into](const std::string& text) {
    const auto patience = parse_duration_ms(text);
    if (!patience || *patience > patience_ms_max)
      throw options::error("--patience '" + text +
                           "'; allowed: a duration as 30s or 10m, up to 24h");
    into.patience_ms = static_cast<std::uint32_t>(*patience);
  };
  add("patience", options::value<std::string>()->notifier(set_patience), "");
}

void add_export(adder& add, command_line& into) {
  add("output,o", options::value(&into.output), "");
  add("job", options::value(&into.job), "");
  add("list", options::bool_switch(&into.list), "");
  add("checkpoint", options::value(&into.checkpoint), "");
  add("since", options::value<std::string>()->notifier([&into](const std::string& text) {
    into.since = parse_unsigned(text);
    if (!into.since) throw options::error("--since '" + text + "'; allowed: a clock, a number");
  }),
      "");
}

void add_launch(adder& add, command_line& into) {
  add("run-dir", options::value(&into.run_dir), "");
  add("run-dir-file", options::value(&into.run_dir_file), "");
  add("resume", options::value(&into.resume), "");
  add("continue", options::bool_switch(&into.goes_on), "");
  add_patience(add, into);
  add("follow", options::bool_switch(&into.follow), "");
  add("trace", options::value(&into.output), "");
}

void add_submit(adder& add, command_line& into) {
  add_sets(add, into);
  add_nodes(add, into);
  add("slurm", options::bool_switch(&into.slurm), "");
  add("time", options::value(&into.time), "");
  add("run-dir", options::value(&into.run_dir), "");
  add("sbatch", options::value(&into.sbatch)->composing(), "");
  add("dry-run", options::bool_switch(&into.dry_run), "");
}

void add_why(adder& add, command_line& into) {
  const auto number = [](const char* option, std::optional<std::uint64_t>& value) {
    return options::value<std::string>()->notifier([option, &value](const std::string& text) {
      value = parse_unsigned(text);
      if (!value)
        throw options::error(std::string(option) + " '" + text +
                             "'; allowed: a number of clocks");
    });
  };
  add("json", options::bool_switch(&into.json), "");
  add("job", options::value(&into.job), "");
  add("clock", number("--clock", into.clock), "");
  add("last", number("--last", into.last_clocks), "");
}

void add_clocks(adder& add, command_line& into) {
  const auto set_clocks = [&into](const std::string& text) {
    const auto dots = text.find("..");
    const auto first = parse_unsigned(text.substr(0, dots));
    const auto last = dots == std::string::npos ? first : parse_unsigned(text.substr(dots + 2));
    if (!first || !last || *first > *last)
      throw options::error("--clocks '" + text +
                           "'; allowed: a clock, or two as 100..120, the first not after the "
                           "second");
    into.clocks = clock_range{.first = *first, .last = *last};
  };
  add("clocks", options::value<std::string>()->notifier(set_clocks), "");
}

void add_each_clock(adder& add, command_line& into) {
  add_clocks(add, into);
  add("follow,f", options::bool_switch(&into.follow), "");
  add("job", options::value(&into.job), "");
  add("json", options::bool_switch(&into.json), "");
}

void add_trace(adder& add, command_line& into) {
  add_clocks(add, into);
  add("output,o", options::value<std::string>()->notifier([&into](const std::string& path) {
    if (path.empty()) throw options::error("--output ''; allowed: a path");
    into.output = path;
  }),
      "");
}

void add_view(adder& add, command_line& into) {
  const auto set_address = [&into](const std::string& text) {
    into.address = parse_endpoint(text, 0);
    if (!into.address || !is_loopback(into.address->host))
      throw options::error("--address '" + text +
                           "'; allowed: an address of loopback and a port, as 127.0.0.1:8080");
  };
  add("address", options::value<std::string>()->notifier(set_address), "");
}

void add_logs(adder& add, command_line& into) {
  const auto set_lines = [&into](const std::string& text) {
    into.all_lines = text == "all";
    into.lines = parse_unsigned(text);
    if (!into.all_lines && !into.lines)
      throw options::error("--lines '" + text + "'; allowed: a number of lines, or all");
  };
  add("follow,f", options::bool_switch(&into.follow), "");
  add("lines,n", options::value<std::string>()->notifier(set_lines), "");
}

}  // namespace

options::options_description options_of(command_kind kind, command_line& into) {
  options::options_description all;
  auto add = all.add_options();
  add("help,h", "");
  switch (kind) {
    case command_kind::launch:
      add_launch(add, into);
      [[fallthrough]];
    case command_kind::validate:
      add_sets(add, into);
      break;
    case command_kind::plan:
      add_sets(add, into);
      add("json", options::bool_switch(&into.json), "");
      add("engine", options::value(&into.engine), "");
      add_nodes(add, into);
      break;
    case command_kind::submit:
      add_submit(add, into);
      break;
    case command_kind::export_model:
      add_export(add, into);
      break;
    case command_kind::logs:
      add_logs(add, into);
      break;
    case command_kind::stop:
      add("now", options::bool_switch(&into.now), "");
      break;
    case command_kind::list_runs:
    case command_kind::status:
      add("json", options::bool_switch(&into.json), "");
      break;
    case command_kind::why:
      add_why(add, into);
      break;
    case command_kind::trace:
      add_trace(add, into);
      break;
    case command_kind::clocks:
      add_each_clock(add, into);
      break;
    case command_kind::view:
      add_view(add, into);
      break;
    case command_kind::scale:
      add("job", options::value(&into.job), "");
      break;
    case command_kind::node_coordinator:
      add("run-dir", options::value(&into.run_dir)->required(), "");
      add("ready-fd", options::value(&into.ready_fd)->required(), "");
      break;
    case command_kind::node_aggregator:
      add("job", options::value(&into.job)->required(), "");
      [[fallthrough]];
    case command_kind::node_shard:
    case command_kind::node_replica:
      add("run-dir", options::value(&into.run_dir)->required(), "");
      add("index", options::value(&into.index)->required(), "");
      break;
    case command_kind::help:
    case command_kind::version:
    case command_kind::host:
    case command_kind::cancel:
    case command_kind::top:
      break;
  }
  return all;
}

}  // namespace tidegate::launch
