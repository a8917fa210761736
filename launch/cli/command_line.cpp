#include "launch/cli/command_line.hpp"

#include <algorithm>
#include <limits>

#include "launch/cli/command_options.hpp"
#include "launch/options/option_names.hpp"
#include "launch/options/parse_words.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/scalars.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

using arguments = std::vector<std::string>;

struct command {
  std::string name;
  command_kind kind;
  std::string argument = "cluster file";
  std::string example = "cluster.yaml";
};

const std::vector<command>& commands() {
  static const std::vector<command> all{
      {.name = "validate", .kind = command_kind::validate},
      {.name = "plan", .kind = command_kind::plan},
      {.name = "launch", .kind = command_kind::launch},
      {.name = "submit", .kind = command_kind::submit, .example = "--slurm cluster.yaml"},
      {.name = "export",
       .kind = command_kind::export_model,
       .argument = "run folder",
       .example = "RUN_DIR"},
      {.name = "scale",
       .kind = command_kind::scale,
       .argument = "run folder",
       .example = "RUN_DIR workers=6 shards=3"},
      {.name = "cancel",
       .kind = command_kind::cancel,
       .argument = "run folder",
       .example = "RUN_DIR JOB"},
      {.name = "status",
       .kind = command_kind::status,
       .argument = "run folder",
       .example = "RUN_DIR"},
      {.name = "top",
       .kind = command_kind::top,
       .argument = "run folder",
       .example = "RUN_DIR"},
      {.name = "logs",
       .kind = command_kind::logs,
       .argument = "run folder",
       .example = "RUN_DIR [PROCESS]"},
      {.name = "ls",
       .kind = command_kind::list_runs,
       .argument = "folder",
       .example = "FOLDER"},
      {.name = "stop",
       .kind = command_kind::stop,
       .argument = "run folder",
       .example = "RUN_DIR"},
      {.name = "why",
       .kind = command_kind::why,
       .argument = "run folder",
       .example = "RUN_DIR"},
      {.name = "trace",
       .kind = command_kind::trace,
       .argument = "run folder",
       .example = "RUN_DIR"},
      {.name = "clocks",
       .kind = command_kind::clocks,
       .argument = "run folder",
       .example = "RUN_DIR"},
      {.name = "view",
       .kind = command_kind::view,
       .argument = "run folder",
       .example = "RUN_DIR"},
  };
  return all;
}

tl::unexpected<runtime::status> bad(std::string subject) {
  return runtime::fail(runtime::errc::invalid_argument, std::move(subject));
}

std::string did_you_mean(std::string_view word, const arguments& known) {
  const auto near = nearest(word, known);
  return (near.empty() ? "" : "; did you mean '" + near + "'?") + std::string("; allowed: ") +
         join(known);
}

// Parses options of one command; the words that are none of them are returned.
runtime::expected<arguments> parse_options(const std::string& name, command_kind kind,
                                           const arguments& args, command_line& into) {
  const auto parsed = parse_words(name, options_of(kind, into), args);
  if (!parsed) return runtime::fail(parsed.error());
  if (parsed->options.count("help") == 0) return parsed->words;
  into.kind = command_kind::help;
  into.topic = name;
  return arguments{};
}

runtime::expected<command_line> parse_node(const arguments& args) {
  static const std::vector<command> roles{
      {.name = "coordinator", .kind = command_kind::node_coordinator},
      {.name = "shard", .kind = command_kind::node_shard},
      {.name = "replica", .kind = command_kind::node_replica},
      {.name = "aggregator", .kind = command_kind::node_aggregator}};
  const std::string word = args.size() < 2 ? "" : args[1];
  const auto role = std::find_if(roles.begin(), roles.end(),
                                 [&](const command& entry) { return entry.name == word; });
  if (role == roles.end()) {
    arguments names;
    for (const auto& candidate : roles) names.push_back(candidate.name);
    return bad("tidegate node: unknown role '" + word + "'" + did_you_mean(word, names));
  }
  command_line line;
  line.kind = role->kind;
  const auto rest =
      parse_options("node " + word, line.kind, arguments(args.begin() + 2, args.end()), line);
  if (!rest) return runtime::fail(rest.error());
  if (!rest->empty()) return bad("tidegate node: '" + rest->front() + "' is one word too many");
  return line;
}

runtime::expected<command_line> parse_scale(const arguments& words, command_line& line) {
  namespace limits = runtime::limits;
  const auto refuse = [](const std::string& word) {
    return bad("tidegate scale" + (word.empty() ? "" : ": '" + word + "'") +
               "; allowed: tidegate scale RUN_DIR workers=N shards=N [--job NAME], one of the "
               "two or both, workers from 1 to " +
               std::to_string(limits::workers_max) + ", shards from 1 to " +
               std::to_string(limits::shards_max));
  };
  if (words.size() < 2) return refuse("");
  line.file = words[0];
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = std::min(words[i].find('='), words[i].size());
    const auto key = words[i].substr(0, equals);
    auto& into = key == "shards" ? line.shards : line.workers;
    const auto most = key == "shards" ? limits::shards_max : limits::workers_max;
    const auto number = parse_unsigned(
        std::string_view(words[i]).substr(std::min(equals + 1, words[i].size())));
    if ((key != "shards" && key != "workers") || into != 0 || !number || *number == 0 ||
        *number > most)
      return refuse(words[i]);
    into = static_cast<std::uint32_t>(*number);
  }
  return line;
}

runtime::expected<command_line> parse_file_command(const command& selected,
                                                   const arguments& args) {
  command_line line;
  line.kind = selected.kind;
  const auto words = parse_options(selected.name, selected.kind,
                                   arguments(args.begin() + 1, args.end()), line);
  if (!words) return runtime::fail(words.error());
  if (line.kind == command_kind::help) return line;
  if (!line.resume.empty()) {
    if (words->empty() && line.run_dir.empty() && line.run_dir_file.empty() &&
        line.sets.empty() && !line.goes_on)
      return line;
    return bad(
        "tidegate launch: --resume goes on with the run as it is; allowed: tidegate "
        "launch --resume RUN_DIR [--follow], and nothing else");
  }
  if (line.kind == command_kind::scale) return parse_scale(*words, line);
  if (line.kind == command_kind::cancel) {
    if (words->empty() || words->size() > 2)
      return bad(
          "tidegate cancel; allowed: tidegate cancel RUN_DIR [JOB], without JOB the only one");
    line.file = words->front();
    if (words->size() == 2) line.job = words->back();
    return line;
  }
  if (line.kind == command_kind::list_runs && words->empty()) {
    line.file = "runs";
    return line;
  }
  if (line.kind == command_kind::logs && words->size() == 2) {
    line.file = words->front();
    line.process = words->back();
    return line;
  }
  if (words->size() != 1) {
    return bad("tidegate " + selected.name +
               (words->empty() ? ": no " + selected.argument + " is given"
                               : ": more than one " + selected.argument) +
               "; allowed: tidegate " + selected.name + " " + selected.example + " [options]");
  }
  if (line.kind == command_kind::submit && !line.slurm)
    return bad("tidegate submit: say to which queue; allowed: tidegate submit --slurm " +
               words->front() + " [options]");
  if (line.kind == command_kind::export_model && line.list != line.output.empty())
    return bad("tidegate export: give either -o FILE or --list");
  if (line.kind == command_kind::why && line.clock && line.last_clocks)
    return bad("tidegate why: --last or --clock, not both");
  if (line.kind == command_kind::clocks && line.clocks && line.follow)
    return bad("tidegate clocks: --clocks or --follow, not both");
  if (line.kind == command_kind::export_model && line.list && line.since)
    return bad("tidegate export: --since CLOCK belongs to -o FILE");
  if (line.kind == command_kind::export_model && line.list && !line.checkpoint.empty())
    return bad("tidegate export: --checkpoint ID belongs to -o FILE");
  line.file = words->front();
  return line;
}

runtime::expected<command_line> parse_help(const arguments& args) {
  command_line line;
  if (args.size() > 1) line.topic = args[1];
  const bool has_key = line.topic == "yaml" && args.size() > 2;
  if (has_key) line.key = args[2];
  const std::size_t most = has_key ? 3 : 2;
  // `tidegate help node shard` is of a command of two words.
  if (args.size() > most && line.topic != "node")
    return bad("tidegate help: '" + args[most] +
               "' is one word too many; allowed: tidegate help [COMMAND], tidegate help yaml "
               "[KEY]");
  return line;
}

}  // namespace

std::vector<command_page> command_pages() {
  std::vector<command_page> pages{{.name = "", .help = help_text(""), .options = {}}};
  for (const auto& each : commands()) {
    command_line unused;
    pages.push_back({.name = each.name,
                     .help = help_text(each.name),
                     .options = option_names(options_of(each.kind, unused))});
  }
  return pages;
}

runtime::expected<command_line> parse_command_line(const arguments& args) {
  command_line line;
  if (args.empty()) return bad("no command is given; try tidegate --help");
  const auto& first = args.front();
  if (first == "--help" || first == "-h" || first == "help") return parse_help(args);
  if (first == "--version") {
    line.kind = command_kind::version;
    return line;
  }
  if (first == "node") return parse_node(args);
  if (first == "host") {
    if (args.size() > 1) return bad("tidegate host: '" + args[1] + "'; allowed: no argument");
    line.kind = command_kind::host;
    return line;
  }
  arguments known;
  for (const auto& c : commands()) {
    if (c.name == first) return parse_file_command(c, args);
    known.push_back(c.name);
  }
  known.insert(known.end(), {"bench", "chaos", "completion", "door", "relay", "render",
                             "simulate", "help", "--help", "--version"});
  return bad((first.starts_with('-') ? "unknown option '" : "unknown command '") + first + "'" +
             did_you_mean(first, known));
}

}  // namespace tidegate::launch
