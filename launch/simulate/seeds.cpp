#include "launch/simulate/seeds.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <sys/random.h>

#include <nlohmann/json.hpp>

#include "launch/simulate/cluster/simulate.hpp"
#include "launch/simulate/read_scenario.hpp"
#include "launch/simulate/version.hpp"
#include "launch/text/exit_code.hpp"
#include "launch/text/files.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/scalars.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::simulate {

namespace {

using launch::exit_code;
using launch::join;
using launch::nearest;
using launch::parse_unsigned;
using launch::read_file;
using launch::write_file_atomically;
using runtime::errc;
using runtime::status;

constexpr std::uint64_t seeds_most = 1'000'000'000;

constexpr std::array known_options{"--seeds",      "--first-seed", "--scenario",
                                   "--on-devices", "--trace",      "--json"};

status bad(std::string subject) {
  return {errc::invalid_argument, std::move(subject)};
}

status set(const std::string& option, const std::string& value, seeds_options& into) {
  if (option == "--trace" || option == "--json" || option == "--scenario") {
    if (value.empty()) return bad(option + " needs a value");
    if (option == "--trace") into.trace = value;
    if (option == "--json") into.json = value;
    if (option == "--scenario") into.scenarios.push_back(value);
    return {};
  }
  if (option == "--first-seed" && value == "new") {
    into.drawn = true;
    return {};
  }
  if (option == "--on-devices" && (value == "all" || value == "none")) {
    into.on_devices = value == "all" ? 1.0 : 0.0;
    return {};
  }
  if (option != "--seeds" && option != "--first-seed") {
    if (option == "--on-devices") return bad("--on-devices " + value + "; allowed: all, none");
    const std::vector<std::string> known(known_options.begin(), known_options.end());
    const auto near = nearest(option, known);
    return bad("simulate: no option " + option +
               (near.empty() ? "" : "; did you mean " + near + "?") +
               " Allowed: " + join(known));
  }
  const auto number = parse_unsigned(value);
  const bool counts = option == "--seeds";
  if (!number || (counts && (*number == 0 || *number > seeds_most)))
    return bad(option + " " + value + "; allowed: " +
               (counts ? "1 to " + std::to_string(seeds_most) : "a number, or new"));
  (counts ? into.seeds : into.first_seed) = *number;
  return {};
}

runtime::expected<sim::scenario> find_scenario(const std::string& name,
                                               const std::vector<sim::scenario>& mix) {
  std::vector<std::string> names;
  for (const auto& scenario : mix) {
    if (scenario.name == name) return scenario;
    names.push_back(scenario.name);
  }
  if (!name.ends_with(".yaml"))
    return runtime::fail(errc::invalid_argument, "--scenario " + name + "; allowed: " +
                                                     join(names) + ", or a file *.yaml");
  const auto text = read_file(name);
  if (!text) return runtime::fail(text.error());
  return read_scenario(*text, name);
}

runtime::expected<std::vector<sim::scenario>> choose_scenarios(const seeds_options& options) {
  if (options.scenarios.empty()) return standard_mix();
  const auto all = all_scenarios();
  std::vector<sim::scenario> chosen;
  for (const auto& name : options.scenarios) {
    auto scenario = find_scenario(name, all);
    if (!scenario) return runtime::fail(scenario.error());
    scenario->weight = std::max(scenario->weight, 1U);
    chosen.push_back(std::move(*scenario));
  }
  return chosen;
}

runtime::expected<std::vector<sim::scenario>> choose(const seeds_options& options) {
  auto chosen = choose_scenarios(options);
  if (chosen && options.on_devices)
    for (auto& scenario : *chosen) scenario.on_devices = *options.on_devices;
  return chosen;
}

std::string replay(const seeds_options& options, const sim::seed_failure& failure) {
  const auto* const devices =
      options.on_devices.value_or(0) > 0 ? " --on-devices all" : " --on-devices none";
  return "tidegate simulate --seeds 1 --first-seed " + std::to_string(failure.seed) +
         " --scenario " + failure.scenario + (options.on_devices ? devices : "") +
         " --trace trace.txt";
}

std::string describe(const seeds_options& options, const sim::seed_failure& failure) {
  std::string text = "seed " + std::to_string(failure.seed) + ", scenario " + failure.scenario +
                     ", commit " + built_commit() + "\n";
  if (failure.stuck) text += "  stuck: no end, though all faults had stopped\n";
  for (const auto& v : failure.violations) text += "  " + v.promise + ": " + v.message + "\n";
  return text + "  again: " + replay(options, failure) + "\n";
}

std::string as_json(const seeds_options& options, const sim::simulate_report& report,
                    double seconds) {
  nlohmann::ordered_json root{{"first_seed", options.first_seed},
                              {"clusters", report.clusters},
                              {"violations", report.violations},
                              {"stuck", report.stuck},
                              {"seconds", seconds},
                              {"events_per_s", static_cast<double>(report.events) / seconds},
                              {"digest", report.digest},
                              {"commit", built_commit()},
                              {"scenarios", report.of_scenario},
                              {"ended", report.ended},
                              {"never_hit", report.never_hit},
                              {"never_forced", report.never_forced},
                              {"never_turned", report.never_turned},
                              {"failures", nlohmann::ordered_json::array()}};
  for (const auto& failure : report.failures) {
    nlohmann::ordered_json shown{{"seed", failure.seed},
                                 {"scenario", failure.scenario},
                                 {"stuck", failure.stuck},
                                 {"replay", replay(options, failure)},
                                 {"violations", nlohmann::ordered_json::array()}};
    for (const auto& v : failure.violations)
      shown["violations"].push_back({{"promise", v.promise}, {"what", v.message}});
    root["failures"].push_back(shown);
  }
  return root.dump(2) + "\n";
}

std::string as_text(const seeds_options& options, const sim::simulate_report& report,
                    double seconds) {
  const auto last = options.first_seed + (report.clusters == 0 ? 0 : report.clusters - 1);
  std::string text = std::to_string(report.clusters) + " clusters, seeds " +
                     std::to_string(options.first_seed) + " to " + std::to_string(last) + ", " +
                     std::to_string(report.violations) + " broke a promise, " +
                     std::to_string(report.stuck) + " stuck\n";
  char digest[40];
  std::snprintf(digest, sizeof digest, "digest %016llx\n",
                static_cast<unsigned long long>(report.digest));
  text += digest;
  char rate[80];
  std::snprintf(rate, sizeof rate,
                "%.1f s, %.0f clusters a minute, %.2f million events a second", seconds,
                static_cast<double>(report.clusters) / seconds * 60,
                static_cast<double>(report.events) / seconds / 1e6);
  text += std::string(rate) + "\n";
  for (const auto& [name, count] : report.of_scenario)
    text += "  " + name + ": " + std::to_string(count) + "\n";
  for (const auto& [manner, count] : report.ended)
    text += "  ended as " + manner + ": " + std::to_string(count) + "\n";
  for (const auto& name : report.never_hit) text += "  never hit: " + name + "\n";
  for (const auto& name : report.never_forced) text += "  never forced: " + name + "\n";
  for (const auto& name : report.never_turned) text += "  knob never turned: " + name + "\n";
  return text;
}

status write_trace(const seeds_options& options, const std::vector<sim::scenario>& mix) {
  const sim::simulate_options simulate_options{
      .first_seed = options.first_seed, .seeds = 1, .mix = mix, .failures_max = 1};
  const auto& of = sim::scenario_of(simulate_options, options.first_seed);
  const auto found =
      run_cluster(sim::draw_plan(of, options.first_seed), options.first_seed, true);
  if (auto written = write_file_atomically(options.trace, found.text); !written.ok())
    return written;
  return write_file_atomically(options.trace + ".chrome.json", found.chrome);
}

int usage(const status& why) {
  std::cerr << "tidegate: " << why.message() << "\n";
  return static_cast<int>(exit_code::bad_usage);
}

}  // namespace

runtime::expected<seeds_options> parse_seeds(const std::vector<std::string>& args) {
  seeds_options options;
  for (std::size_t i = 0; i < args.size(); ++i) {
    auto option = args[i];
    std::string value;
    if (const auto equals = option.find('='); equals != std::string::npos) {
      value = option.substr(equals + 1);
      option.resize(equals);
    } else if (i + 1 < args.size()) {
      value = args[++i];
    }
    if (auto done = set(option, value, options); !done.ok()) return runtime::fail(done);
  }
  if (options.drawn) {
    const auto n = ::getrandom(&options.first_seed, sizeof options.first_seed, 0);
    TIDEGATE_ASSERT(n == sizeof options.first_seed, "getrandom gives 8 bytes");
    options.first_seed %= 1'000'000'000'000ULL;
  }
  return options;
}

int run_seeds(const seeds_options& options) {
  const auto mix = choose(options);
  if (!mix) return usage(mix.error());
  if (!options.trace.empty())
    if (auto written = write_trace(options, *mix); !written.ok()) return usage(written);
  std::cerr << "seeds from " << options.first_seed << "\n";
  const auto begin = std::chrono::steady_clock::now();
  const auto report = sim::simulate({.first_seed = options.first_seed,
                                     .seeds = options.seeds,
                                     .mix = *mix,
                                     .failures_max = 10},
                                    [] { return true; });
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto json = as_json(options, report, seconds);
  std::cout << (options.json == "-" ? json : as_text(options, report, seconds));
  for (const auto& failure : report.failures) std::cerr << describe(options, failure);
  if (!options.json.empty() && options.json != "-")
    if (auto written = write_file_atomically(options.json, json); !written.ok())
      return usage(written);
  if (report.violations > 0) return static_cast<int>(exit_code::job_failed);
  return report.stuck > 0 ? exit_stuck : 0;
}

bool is_seeds(const std::vector<std::string>& args) {
  return std::any_of(args.begin(), args.end(), [](const std::string& arg) {
    return arg.starts_with("--seeds") || arg.starts_with("--first-seed") ||
           arg.starts_with("--scenario") || arg.starts_with("--trace");
  });
}

int run_seeds(const std::vector<std::string>& args) {
  const auto options = parse_seeds(args);
  return options ? run_seeds(*options) : usage(options.error());
}

std::vector<launch::option_name> seeds_option_names() {
  std::vector<launch::option_name> names;
  for (const std::string option : known_options) names.push_back({.name = option.substr(2)});
  return names;
}

std::string seeds_help() {
  return R"(tidegate simulate --seeds N [options]

Runs whole clusters in one thread under virtual time: the same cores as in production, a network that
delays, doubles, reorders and loses, and processes that die or stall, all drawn from a seed. Every seed is run
twice. Checkers apart from the cores tell what was broken.

  --seeds N          how many, default 1000
  --first-seed S     default 1; new draws one and prints it
  --scenario NAME    of launch/simulate/scenarios, or a file *.yaml; again for several; default: the mix
  --on-devices WHICH  all: shards of all clusters step on devices, which work beside them; none; without it
                     as the scenarios say
  --trace FILE       what happened in the first seed, as text; and FILE.chrome.json
  --json FILE        - for standard output, in place of the text

Exit code: 0 clean, 1 a promise was broken, 2 usage, 4 stuck.
)";
}

}  // namespace tidegate::simulate
