#include "launch/kubernetes/render_command.hpp"

#include <iostream>

#include "launch/config/read_spec.hpp"
#include "launch/door/door_key.hpp"
#include "launch/options/option_names.hpp"
#include "launch/options/parse_words.hpp"
#include "launch/text/scalars.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

namespace options = boost::program_options;

using words = std::vector<std::string>;

constexpr const char* help =
    R"(tidegate render kubernetes FILE --image IMAGE [--nodes N] [options] > manifests.yaml

Writes what runs a cluster file on Kubernetes with JobSet (jobset.x-k8s.io): the launcher's pod,
which is the first host, and a pod for each other host. `kubectl apply -f manifests.yaml` starts it.
The text has the key of the hosts' doors in it: whoever reads it may start processes there.

  --image IMAGE          has tidegate in its PATH, and the programs of the jobs
  --nodes N              how many hosts; without it those that cluster.hosts names
  --claim NAME           a PersistentVolumeClaim (ReadWriteMany) for the run folder, which
                         checkpoints need, and a launcher whose pod is lost to go on
  --volume PATH          where pods mount it; /tidegate without it
  --resource NAME=AMOUNT  of each pod, requested and not exceeded: cpu=8, memory=32Gi,
                         nvidia.com/gpu=1; may be given often
  --namespace NAME       the one of kubectl without it
  --key-secret NAME      a Secret that is there, with the key under `key`, instead of a new one
  --set path=value       changes the file before it is read; may be given often

Exit codes: 0 done; 2 bad usage or YAML.
)";

tl::unexpected<runtime::status> bad(const std::string& why) {
  return runtime::fail(runtime::errc::invalid_argument, "tidegate render: " + why);
}

options::options_description describe(render_options& into) {
  auto& kubernetes = into.kubernetes;
  options::options_description known;
  auto add = known.add_options();
  add("help,h", "");
  add("image", options::value(&kubernetes.image), "");
  add("nodes", options::value<std::string>(), "");
  add("claim", options::value(&kubernetes.claim), "");
  add("volume", options::value(&kubernetes.volume), "");
  add("resource", options::value<words>()->composing(), "");
  add("namespace", options::value(&kubernetes.name_space), "");
  add("key-secret", options::value(&kubernetes.key_secret), "");
  add("set", options::value(&into.sets)->composing(), "");
  return known;
}

runtime::status take_resources(const words& given, kubernetes_options& into) {
  for (const auto& each : given) {
    const auto equals = each.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == each.size())
      return {runtime::errc::invalid_argument,
              "tidegate render: --resource '" + each + "'; allowed: NAME=AMOUNT, as cpu=8"};
    into.resources.emplace_back(each.substr(0, equals), each.substr(equals + 1));
  }
  return {};
}

runtime::status take_nodes(const std::string& text, std::uint32_t& into) {
  constexpr auto nodes_max = runtime::limits::workers_max + runtime::limits::shards_max;
  const auto number = parse_unsigned(text);
  if (!number || *number == 0 || *number > nodes_max)
    return {
        runtime::errc::invalid_argument,
        "tidegate render: --nodes '" + text + "'; allowed: 1 to " + std::to_string(nodes_max)};
  into = static_cast<std::uint32_t>(*number);
  return {};
}

}  // namespace

bool is_render_command(const words& args) {
  if (args.empty()) return false;
  return args[0] == "render" || (args[0] == "help" && args.size() > 1 && args[1] == "render");
}

runtime::expected<render_options> parse_render_command(const words& args) {
  render_options result;
  result.help = args.front() == "help";
  if (result.help) return result;
  const auto known = describe(result);
  const auto parsed = parse_words("render", known, words(args.begin() + 1, args.end()));
  if (!parsed) return runtime::fail(parsed.error());
  result.help = parsed->options.count("help") != 0;
  if (result.help) return result;
  const auto& [found, given] = *parsed;
  if (given.size() != 2 || given.front() != "kubernetes")
    return bad("allowed: tidegate render kubernetes FILE --image IMAGE [options]");
  result.file = given.back();
  if (found.count("resource") != 0)
    if (auto taken = take_resources(found["resource"].as<words>(), result.kubernetes);
        !taken.ok())
      return runtime::fail(taken);
  if (found.count("nodes") != 0)
    if (auto taken = take_nodes(found["nodes"].as<std::string>(), result.nodes); !taken.ok())
      return runtime::fail(taken);
  return result;
}

command_page render_page() {
  render_options unused;
  return {.name = "render", .help = help, .options = option_names(describe(unused))};
}

exit_code run_render_command(const words& args) {
  const auto refuse = [](const std::string& why) {
    std::cerr << why << "\n";
    return exit_code::bad_usage;
  };
  auto command = parse_render_command(args);
  if (!command) return refuse(command.error().message());
  if (command->help) {
    std::cout << help;
    return exit_code::done;
  }
  command->sets.emplace_back("cluster.engine=kubernetes");
  auto cluster = load_cluster_file(command->file, command->sets);
  if (!cluster) return refuse(cluster.error().message());
  auto key = draw_door_key();
  const auto run = draw_door_key();
  if (!key || !run) return refuse((key ? run : key).error().message());
  constexpr std::size_t run_digits = 8;
  command->kubernetes.key = std::move(*key);
  command->kubernetes.otlp = std::move(cluster->otlp);
  command->kubernetes.run = run->substr(0, run_digits);
  const auto text = manifests(cluster->spec, command->nodes, command->kubernetes);
  if (!text) return refuse(command->file + ": " + text.error().message());
  std::cout << *text;
  return exit_code::done;
}

}  // namespace tidegate::launch
