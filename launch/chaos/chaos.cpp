#include "launch/chaos/chaos.hpp"

#include <iostream>

#include "launch/chaos/chaos_log.hpp"
#include "launch/chaos/connections.hpp"
#include "launch/chaos/members.hpp"
#include "launch/chaos/options.hpp"
#include "launch/chaos/random.hpp"
#include "launch/chaos/world.hpp"
#include "launch/text/exit_code.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::chaos {

namespace {

using launch::exit_code;
using policies::chaos_target;
using runtime::errc;
using runtime::status;

constexpr std::uint64_t fill_ms_default = 1000;

runtime::expected<chaos_target> find(const std::vector<chaos_target>& living,
                                     const std::string& name) {
  std::string names;
  for (const auto& target : living) {
    if (target.name.to_string() == name) return target;
    names += (names.empty() ? "" : ", ") + target.name.to_string();
  }
  return runtime::fail(errc::not_found, "no process " + name +
                                            " of this run lives; there are: " +
                                            (names.empty() ? "none" : names));
}

runtime::expected<chaos_target> find(const std::vector<chaos_target>& living,
                                     const chaos_options& options) {
  if (!options.role) return find(living, options.process);
  if (const auto target = choose_target(living, *options.role, options.plan.seed))
    return *target;
  return runtime::fail(errc::not_found,
                       "no " + std::string(to_string(*options.role)) + " of this run lives");
}

status cut(const members& run, const chaos_options& options) {
  if (run.has_ended()) return {errc::not_found, run.run_dir() + ": this run has ended"};
  const auto living = run.living();
  if (!living) return living.error();
  const auto process = find(*living, options.process);
  if (!process) return process.error();
  const auto other = find(*living, options.other);
  if (!other) return other.error();
  const auto count = cut_connections(process->pid, other->pid);
  if (!count) return count.error();
  if (*count == 0)
    return {errc::not_found, "no TCP connection between " + options.process + " and " +
                                 options.other +
                                 "; processes of a host share memory unless transport is tcp"};
  return chaos_log(run.run_dir())
      .append(runtime::unix_now(), "cut",
              options.process + " from " + options.other + ", " + std::to_string(*count) +
                  (*count == 1 ? " connection" : " connections"));
}

status hit_one(const members& run, const chaos_options& options) {
  if (run.has_ended()) return {errc::not_found, run.run_dir() + ": this run has ended"};
  const auto living = run.living();
  if (!living) return living.error();
  const auto target = find(*living, options);
  if (!target) return target.error();
  chaos_log log(run.run_dir());
  const auto* subject = options.verb == verb::stop    ? "stop"
                        : options.verb == verb::go_on ? "continue"
                                                      : "kill";
  return strike(*target, subject, options.signal, log);
}

status carry_out(const chaos_options& options) {
  const auto run = members::of_run(options.run_dir);
  if (!run) return run.error();
  const auto for_ms = options.plan.for_ms;
  if (options.verb == verb::fill)
    return fill(run->run_dir(), for_ms == 0 ? fill_ms_default : for_ms);
  if (options.verb == verb::partition || options.verb == verb::heal)
    return cut_off(run->run_dir(), options.host, options.verb == verb::heal, for_ms);
  if (options.verb == verb::cut) return cut(*run, options);
  if (options.verb == verb::random) return carry_out_random(*run, options.plan);
  return hit_one(*run, options);
}

}  // namespace

bool is_chaos(const std::vector<std::string>& args) {
  if (args.empty()) return false;
  const bool asks = args[0] == "help" || args[0] == "--help" || args[0] == "-h";
  return args[0] == "chaos" || (asks && args.size() > 1 && args[1] == "chaos");
}

int run_chaos(const std::vector<std::string>& args) {
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] != "chaos") rest = {"--help"};
  const auto options = parse_chaos(rest);
  if (options && options->verb == verb::help) {
    std::cout << chaos_help();
    return static_cast<int>(exit_code::done);
  }
  const auto result = options ? carry_out(*options) : options.error();
  if (result.ok()) return static_cast<int>(exit_code::done);
  std::cerr << (options ? "tidegate chaos: " : "") << result.message() << "\n";
  return static_cast<int>(options ? exit_code::job_failed : exit_code::bad_usage);
}

}  // namespace tidegate::chaos
