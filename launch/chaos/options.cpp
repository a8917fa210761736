#include "launch/chaos/options.hpp"

#include <algorithm>
#include <array>
#include <signal.h>
#include <string.h>
#include <tuple>

#include <boost/program_options.hpp>

#include "launch/config/fault_words.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/scalars.hpp"

namespace tidegate::chaos {

namespace {

namespace options = boost::program_options;

using arguments = std::vector<std::string>;
using policies::process_role;
using runtime::status;

using launch::fault_hits_max;
using launch::fault_ms_max;
using launch::split;

constexpr std::array<std::pair<const char*, verb>, 8> verbs{{{"kill", verb::kill},
                                                             {"stop", verb::stop},
                                                             {"continue", verb::go_on},
                                                             {"random", verb::random},
                                                             {"partition", verb::partition},
                                                             {"heal", verb::heal},
                                                             {"fill", verb::fill},
                                                             {"cut", verb::cut}}};

constexpr std::array option_words{"signal",  "seed",  "every", "roles",
                                  "actions", "count", "for"};

bool is_of_host(verb chosen) {
  return chosen == verb::partition || chosen == verb::heal;
}

status bad(const std::string& subject) {
  return {runtime::errc::invalid_argument, "tidegate chaos: " + subject};
}

std::string did_you_mean(const std::string& word, const arguments& known) {
  const auto near = launch::nearest(word, known);
  return (near.empty() ? "" : "; did you mean '" + near + "'?") +
         "; allowed: " + launch::join(known);
}

runtime::expected<process_role> parse_role(const std::string& word) {
  if (const auto role = policies::role_of(word)) return *role;
  arguments known;
  for (const auto role : policies::process_roles) known.emplace_back(to_string(role));
  return runtime::fail(bad("unknown role '" + word + "'" + did_you_mean(word, known)));
}

status set_signal(const std::string& text, chaos_options& into) {
  const auto wanted = text.starts_with("SIG") ? text.substr(3) : text;
  arguments known;
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* name = ::sigabbrev_np(number);
    if (name == nullptr) continue;
    known.emplace_back(name);
    if (wanted == name) into.signal = number;
    if (wanted == name) return {};
  }
  return bad("unknown signal '" + text + "'" + did_you_mean(wanted, known));
}

status set_every(const std::string& text, policies::chaos_plan& into) {
  const auto pause = launch::parse_pause(text);
  if (!pause)
    return bad("--every " + text + "; allowed: a duration as 500ms, or a range as 200ms..2s");
  std::tie(into.pause_first_ms, into.pause_last_ms) = *pause;
  return {};
}

status set_roles(const std::string& text, policies::chaos_plan& into) {
  into.roles.clear();
  for (const auto& word : split(text, ',')) {
    const auto role = parse_role(word);
    if (!role) return role.error();
    into.roles.push_back(*role);
  }
  return into.roles.empty() ? bad("--roles is empty; allowed: roles, as worker,shard")
                            : status{};
}

status set_actions(const std::string& text, policies::chaos_plan& into) {
  const auto wrong =
      bad("--actions " + text +
          "; allowed: kill, stop:TIME as in stop:300ms, partition:TIME, fill:TIME");
  into.actions.clear();
  for (const auto& word : split(text, ',')) {
    const auto action = launch::parse_drawn_action(word);
    if (!action) return wrong;
    into.actions.push_back(*action);
  }
  return into.actions.empty() ? wrong : status{};
}

status set_one(const std::string& option, const std::string& text, chaos_options& into) {
  if (option == "signal") return set_signal(text, into);
  if (option == "every") return set_every(text, into.plan);
  if (option == "roles") return set_roles(text, into.plan);
  if (option == "actions") return set_actions(text, into.plan);
  if (option == "for") {
    const auto ms = launch::parse_duration_ms(text);
    if (!ms || *ms == 0 || *ms > fault_ms_max)
      return bad("--for " + text + "; allowed: 1ms to a day");
    into.plan.for_ms = *ms;
    return {};
  }
  const auto number = launch::parse_unsigned(text);
  if (option == "seed") {
    if (!number) return bad("--seed " + text + "; allowed: 0 to 18446744073709551615");
    into.plan.seed = *number;
    return {};
  }
  if (!number || *number == 0 || *number > fault_hits_max)  // count
    return bad("--count " + text + "; allowed: 1 to " + std::to_string(fault_hits_max));
  into.plan.hits_max = *number;
  return {};
}

// RUN_DIR VERB [PROCESS]
status set_words(const arguments& words, chaos_options& into) {
  if (words.size() < 2)
    return bad(
        "allowed: tidegate chaos RUN_DIR kill|stop|continue|random|partition|heal|fill|cut "
        "...; "
        "see "
        "--help");
  into.run_dir = words[0];
  arguments known;
  for (const auto& [name, chosen] : verbs) {
    known.emplace_back(name);
    if (words[1] == name) into.verb = chosen;
  }
  if (into.verb == verb::help)
    return bad("unknown word '" + words[1] + "'" + did_you_mean(words[1], known));
  const bool alone = into.verb == verb::random || into.verb == verb::fill;
  const std::size_t wanted = alone ? 2 : into.verb == verb::cut ? 4 : 3;
  if (words.size() > wanted) return bad("'" + words[wanted] + "' is one word too many");
  if (words.size() < wanted)
    return bad(words[1] + " whom? allowed: " +
               (is_of_host(into.verb)    ? "a name of cluster.hosts"
                : into.verb == verb::cut ? "two names, as shard-0 worker-mlp-1"
                                         : "a name as worker-mlp-1, or role:worker"));
  if (wanted == 2) return {};
  if (is_of_host(into.verb)) {
    into.host = words[2];
    return {};
  }
  into.process = words[2];
  if (into.verb == verb::cut) {
    into.other = words[3];
    return {};
  }
  if (!into.process.starts_with("role:")) return {};
  const auto role = parse_role(into.process.substr(5));
  if (!role) return role.error();
  into.process.clear();
  into.role = *role;
  return {};
}

arguments options_of(verb chosen) {
  if (chosen == verb::random) return {"seed", "every", "roles", "actions", "count", "for"};
  if (chosen == verb::kill) return {"seed", "signal"};
  if (chosen == verb::partition || chosen == verb::fill) return {"for"};
  if (chosen == verb::heal || chosen == verb::cut) return {};
  return {"seed"};
}

status check_together(const arguments& given, const std::string& word,
                      const chaos_options& options) {
  const auto allowed = options_of(options.verb);
  for (const auto& option : given)
    if (std::find(allowed.begin(), allowed.end(), option) == allowed.end())
      return bad("--" + option + " is not for " + word + "; allowed: " +
                 (allowed.empty() ? "none" : "--" + launch::join(allowed, ", --")));
  return {};
}

int default_signal(verb chosen) {
  if (chosen == verb::stop) return SIGSTOP;
  return chosen == verb::go_on ? SIGCONT : SIGKILL;
}

options::options_description describe() {
  options::options_description all;
  auto add = all.add_options();
  add("help,h", "");
  add("words", options::value<std::string>(), "");
  for (const auto* name : option_words) add(name, options::value<std::string>(), "");
  return all;
}

runtime::expected<chaos_options> read(const options::parsed_options& found) {
  chaos_options options;
  arguments words;
  arguments given;
  for (const auto& option : found.options) {
    if (option.string_key == "help") return chaos_options{};
    if (option.string_key == "words") {
      words.insert(words.end(), option.value.begin(), option.value.end());
      continue;
    }
    given.push_back(option.string_key);
    if (auto set = set_one(given.back(), option.value.front(), options); !set.ok())
      return runtime::fail(set);
  }
  if (auto set = set_words(words, options); !set.ok()) return runtime::fail(set);
  if (auto fit = check_together(given, words[1], options); !fit.ok()) return runtime::fail(fit);
  if (options.signal == 0) options.signal = default_signal(options.verb);
  return options;
}

}  // namespace

runtime::expected<chaos_options> parse_chaos(const arguments& args) {
  namespace style = options::command_line_style;
  const auto all = describe();
  options::positional_options_description words;
  words.add("words", -1);
  try {
    return read(options::command_line_parser(args)
                    .options(all)
                    .positional(words)
                    .style(style::unix_style & ~style::allow_guessing)
                    .run());
  } catch (const options::unknown_option& e) {
    arguments known;
    for (const auto& option : all.options())
      if (option->long_name() != "words") known.push_back("--" + option->long_name());
    return runtime::fail(bad("unknown option '" + e.get_option_name() + "'" +
                             did_you_mean(e.get_option_name(), known)));
  } catch (const options::error& e) {
    return runtime::fail(bad(e.what()));
  }
}

launch::command_page chaos_page() {
  launch::command_page page{.name = "chaos", .help = chaos_help(), .options = {}};
  page.options.push_back({.name = "help", .letter = 'h', .has_value = false});
  for (const auto* name : option_words) page.options.push_back({.name = name});
  return page;
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

}  // namespace tidegate::chaos
