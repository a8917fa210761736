#include "launch/simulate/simulate.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

#include "launch/simulate/keys.hpp"
#include "launch/simulate/read_scale.hpp"
#include "launch/simulate/report.hpp"
#include "launch/simulate/scale/model.hpp"
#include "launch/simulate/seeds.hpp"
#include "launch/text/exit_code.hpp"
#include "launch/text/files.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/scalars.hpp"

namespace tidegate::simulate {

namespace {

using launch::exit_code;
using runtime::status;

constexpr const char* help = R"(tidegate simulate FILE [options]

Models clusters too large to be had: the real consistency policies and plans of aggregators over
machines on paper. FILE has compute times, links and rates, and lists of workers, shards, policies
and aggregators, of which every combination is run. docs/scaling.md says what is modelled, how to
calibrate it, and what came of it.

  --json FILE        all figures; - for standard output, no table
  --svg PREFIX       pictures: PREFIX-rate.svg, -linear.svg, -waiting.svg, -staleness.svg
  --seed N           of the compute times, in place of the file's; equal seeds, equal figures

Columns: clocks/s of one worker. Of linear: beside as many workers that never wait, pause or are
slow. Waiting: of a worker's time, all but computing; p99 over workers. For others: waiting for
their pushes. Staleness: clocks, over pulls. Bottleneck: what is used most of the time.
Exit codes: 0 done; 1 a file cannot be written; 2 bad usage or YAML.

)";

constexpr std::array option_words{"--json", "--svg", "--seed"};

std::string whole_help() {
  return seeds_help() + "\n" + help;
}

status run_scale(const scale_options& options) {
  const auto text = launch::read_file(options.file);
  if (!text) return {runtime::errc::invalid_argument, text.error().message()};
  auto plan = parse_scale(*text, options.file);
  if (!plan) return plan.error();
  if (!options.seed.empty()) plan->common.seed = *launch::parse_unsigned(options.seed);
  std::vector<modelled> runs;
  for (const auto& setting : plan->settings())
    runs.push_back({setting, sim::scale::run(setting)});
  const auto json = scale_json(runs);
  std::cout << (options.json == "-" ? json : scale_table(runs)) << std::flush;
  if (!options.json.empty() && options.json != "-")
    if (auto written = launch::write_file_atomically(options.json, json); !written)
      return written;
  if (options.svg.empty()) return {};
  for (const auto& [name, svg] : scale_pictures(runs))
    if (auto written = launch::write_file_atomically(options.svg + name, svg); !written)
      return written;
  return {};
}

}  // namespace

bool is_simulate(const std::vector<std::string>& args) {
  if (args.empty()) return false;
  const bool asks = args[0] == "help" || args[0] == "--help" || args[0] == "-h";
  return args[0] == "simulate" || (asks && args.size() > 1 && args[1] == "simulate");
}

runtime::expected<scale_options> parse_simulate(const std::vector<std::string>& args) {
  const auto bad = [](const std::string& subject) {
    return runtime::fail(runtime::errc::invalid_argument,
                         subject + "; see tidegate simulate --help");
  };
  scale_options options;
  const std::array<std::string*, option_words.size()> values{&options.json, &options.svg,
                                                             &options.seed};
  for (std::size_t at = 0; at < args.size(); ++at) {
    const auto& word = args[at];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return options;
    }
    std::string* into = nullptr;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < option_words.size(); ++i) {
      names.emplace_back(option_words[i]);
      if (word == option_words[i]) into = values[i];
    }
    if (into == nullptr && word.starts_with("--")) {
      const auto near = launch::nearest(word, names);
      return bad("unknown option " + word +
                 (near.empty() ? std::string() : "; did you mean " + near + "?"));
    }
    if (into == nullptr) {
      if (!options.file.empty()) return bad("one file, not also " + word);
      into = &options.file;
    } else if (++at == args.size()) {
      return bad(word + " needs a value");
    }
    *into = args[at];
  }
  if (options.file.empty()) return bad("which file?");
  if (!options.seed.empty() && !launch::parse_unsigned(options.seed))
    return bad("--seed " + options.seed + "; allowed: 0 to 18446744073709551615");
  return options;
}

launch::command_page simulate_page() {
  launch::command_page page{.name = "simulate", .help = whole_help(), .options = {}};
  page.options.push_back({.name = "help", .letter = 'h', .has_value = false});
  for (auto& name : seeds_option_names()) page.options.push_back(std::move(name));
  for (const std::string option : option_words)
    if (option != "--json") page.options.push_back({.name = option.substr(2)});
  return page;
}

int run_simulate(const std::vector<std::string>& args) {
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] != "simulate") rest = {"--help"};
  if (is_seeds(rest) && std::find(rest.begin(), rest.end(), "--help") == rest.end())
    return run_seeds(rest);
  const auto options = parse_simulate(rest);
  if (options && options->help) {
    std::cout << whole_help() << launch::keys_help("Keys of FILE", scale_keys());
    return static_cast<int>(exit_code::done);
  }
  const auto result = options ? run_scale(*options) : options.error();
  if (result.ok()) return static_cast<int>(exit_code::done);
  std::cerr << "tidegate: " << result.message() << "\n";
  return static_cast<int>(result.code() == runtime::errc::invalid_argument
                              ? exit_code::bad_usage
                              : exit_code::job_failed);
}

}  // namespace tidegate::simulate
