#include "launch/door/door_command.hpp"

#include <iostream>

#include "launch/options/option_names.hpp"
#include "launch/options/parse_words.hpp"
#include "launch/text/exit_code.hpp"
#include "launch/text/scalars.hpp"

namespace tidegate::launch {

namespace {

namespace options = boost::program_options;

using words = std::vector<std::string>;

constexpr std::uint32_t wait_ms_max = 24 * 3'600'000;

constexpr const char* help = R"(tidegate door --key-file FILE [--listen ADDRESS:PORT]

Lets launchers start agents on this host, where nobody logs in: in a pod of Kubernetes, say. Who
proves the key, under TLS 1.3, may start any process here as this user. SIGTERM ends the agents
and the door.

  --key-file FILE    a text of 32 characters or more that nobody else can read;
                     `openssl rand -hex 32` draws one
  --listen PLACE     ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT; [::]:7077 without it, which is all
                     addresses, and port 0 is one that the system chooses. The first line that it
                     prints says which

tidegate relay --key-file FILE [--wait TIME] DOOR [PROGRAM host]

What a launcher runs to start an agent behind a door. In a cluster file it is a host's prefix:

  green: {address: green, prefix: [tidegate, relay, --key-file, /etc/tidegate.key, 'green:7077']}

  --wait TIME        for so long a door is tried again that is not open yet; 10s without it
)";

options::options_description describe(bool is_door) {
  options::options_description known;
  auto add = known.add_options();
  add("help,h", "");
  add("key-file", options::value<std::string>(), "");
  if (is_door) add("listen", options::value<std::string>(), "");
  if (!is_door) add("wait", options::value<std::string>(), "");
  return known;
}

tl::unexpected<runtime::status> bad(const std::string& why) {
  return runtime::fail(runtime::errc::invalid_argument, "tidegate " + why);
}

runtime::expected<door_command> door_of(const options::variables_map& found,
                                        const words& rest) {
  door_options result;
  if (!rest.empty()) return bad("door: '" + rest.front() + "' is one word too many");
  result.key_file = found["key-file"].as<std::string>();
  if (found.count("listen") != 0) result.listen = found["listen"].as<std::string>();
  return result;
}

// The launcher appends what starts an agent; here it is the door's own program.
runtime::expected<door_command> relay_of(const options::variables_map& found,
                                         const words& rest) {
  relay_options result;
  const bool is_whole = rest.size() == 1 || (rest.size() == 3 && rest.back() == "host");
  if (!is_whole)
    return bad(
        "relay; allowed: tidegate relay --key-file FILE [--wait TIME] DOOR "
        "[PROGRAM host]");
  result.door = rest.front();
  result.key_file = found["key-file"].as<std::string>();
  if (found.count("wait") == 0) return result;
  const auto text = found["wait"].as<std::string>();
  const auto wait = parse_duration_ms(text);
  if (!wait || *wait > wait_ms_max)
    return bad("relay: --wait '" + text + "'; allowed: a duration as 500ms or 2m, up to 24h");
  result.wait_ms = static_cast<std::uint32_t>(*wait);
  return result;
}

}  // namespace

bool is_door_command(const words& args) {
  const auto is_name = [](const std::string& word) {
    return word == "door" || word == "relay";
  };
  if (args.empty()) return false;
  return is_name(args[0]) || (args[0] == "help" && args.size() > 1 && is_name(args[1]));
}

runtime::expected<door_command> parse_door_command(const words& args) {
  if (args.front() == "help") return door_help{};
  const bool is_door = args.front() == "door";
  const auto parsed =
      parse_words(args.front(), describe(is_door), words(args.begin() + 1, args.end()));
  if (!parsed) return runtime::fail(parsed.error());
  if (parsed->options.count("help") != 0) return door_help{};
  if (parsed->options.count("key-file") == 0)
    return bad(args.front() + ": --key-file FILE is missing");
  return is_door ? door_of(parsed->options, parsed->words)
                 : relay_of(parsed->options, parsed->words);
}

std::vector<command_page> door_pages() {
  return {{.name = "door", .help = help, .options = option_names(describe(true))},
          {.name = "relay", .help = help, .options = option_names(describe(false))}};
}

int run_door_command(const words& args) {
  const auto command = parse_door_command(args);
  if (!command) {
    std::cerr << command.error().message() << "\n";
    return static_cast<int>(exit_code::bad_usage);
  }
  if (const auto* door = std::get_if<door_options>(&*command)) return run_door(*door);
  if (const auto* relay = std::get_if<relay_options>(&*command)) return run_relay(*relay);
  std::cout << help;
  return static_cast<int>(exit_code::done);
}

}  // namespace tidegate::launch
