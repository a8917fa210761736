#include "launch/bench/options.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <boost/program_options.hpp>

#include "launch/bench/device_bench.hpp"
#include "launch/bench/exchange.hpp"
#include "launch/bench/hosts.hpp"
#include "launch/bench/measure.hpp"
#include "launch/bench/pattern.hpp"
#include "launch/bench/sizes.hpp"
#include "launch/config/words.hpp"
#include "launch/text/nearest.hpp"
#include "policies/placement/replica_chain.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/rows/row_layout.hpp"

namespace tidegate::bench {

namespace {

namespace options = boost::program_options;

using arguments = std::vector<std::string>;
using runtime::status;

constexpr std::uint32_t counts_max = 1'000'000;

struct subject_words {
  std::string name;
  subject measured;
  arguments known;
};

const std::vector<subject_words>& subjects() {
  static const std::vector<subject_words> all{
      {.name = "exchange",
       .measured = subject::exchange,
       .known = {"workers", "shards", "bytes", "optimizer", "transport", "encrypt", "hosts",
                 "replicas", "traces", "iterations", "warmup", "repeat", "tables", "chunk",
                 "pin", "share", "device", "json", "svg"}},
      {.name = "latency",
       .measured = subject::latency,
       .known = {"bytes", "transport", "encrypt", "hosts", "traces", "iterations", "warmup",
                 "pin", "device", "json"}},
      {.name = "roofline",
       .measured = subject::roofline,
       .known = {"bytes", "threads", "inputs", "optimizer", "rounds", "json"}},
      {.name = "device",
       .measured = subject::device,
       .known = {"device", "bytes", "inputs", "chunks", "repeat", "json"}},
      {.name = "rows",
       .measured = subject::rows,
       .known = {"rows", "dim", "batch", "distribution", "threads", "repeat", "workers",
                 "shards", "replicas", "transport", "hosts", "warmup", "pin", "memory",
                 "json"}},
      {.name = "plot", .measured = subject::plot, .known = {"svg"}}};
  return all;
}

status bad(std::string subject) {
  return {runtime::errc::invalid_argument, std::move(subject)};
}

status set_count(const std::string& option, const std::string& text, std::uint32_t least,
                 std::uint32_t most, std::uint32_t& into) {
  const auto numbers = parse_numbers(text, most);
  if (!numbers || numbers->size() != 1 || numbers->front() < least)
    return bad("--" + option + " " + text + "; allowed: " + std::to_string(least) + " to " +
               std::to_string(most));
  into = numbers->front();
  return {};
}

template <class Enum, std::size_t N>
status set_word(const std::string& option, const std::string& text,
                const launch::word_of<Enum> (&words)[N], Enum& into) {
  arguments allowed;
  for (const auto& [word, value] : words) {
    if (word == text) {
      into = value;
      return {};
    }
    allowed.emplace_back(word);
  }
  return bad("--" + option + " " + text + "; allowed: " + launch::join(allowed));
}

status set_list(const std::string& option, const std::string& text, std::uint32_t most,
                std::vector<std::uint32_t>& into) {
  const auto numbers = parse_numbers(text, most);
  if (!numbers) return bad("--" + option + ": " + numbers.error().message());
  if (std::count(numbers->begin(), numbers->end(), 0U) != 0)
    return bad("--" + option + " " + text + "; allowed: 1 and more");
  into = *numbers;
  return {};
}

status set_pin(const std::string& text, std::string& into) {
  into = text;
  if (text == "auto" || text == "none") return {};
  const auto cpus = parse_numbers(text, 4095);
  if (cpus) return {};
  return bad("--pin " + text + "; allowed: auto, none, or cores as in 0,1");
}

status set_hosts(const std::string& text, std::vector<policies::host_spec>& into) {
  auto hosts = parse_hosts(text);
  if (!hosts) return bad("--hosts " + hosts.error().message());
  into = std::move(*hosts);
  return {};
}

bool is_chunk(std::uint64_t size) {
  return size >= runtime::limits::chunk_bytes_min && size <= runtime::limits::chunk_bytes_max;
}

status bad_chunk(const std::string& option, const std::string& text) {
  return bad("--" + option + " " + text +
             "; allowed: " + format_size(runtime::limits::chunk_bytes_min) + " to " +
             format_size(runtime::limits::chunk_bytes_max));
}

status set_chunks(const std::string& text, std::vector<std::uint64_t>& into) {
  const auto sizes = parse_sizes(text);
  if (!sizes || !std::all_of(sizes->begin(), sizes->end(), is_chunk))
    return bad_chunk("chunks", text);
  into = *sizes;
  return {};
}

status set_device(const std::string& text, std::string& into) {
  const auto name = runtime::devices::parse_device_name(text);
  if (!name) return bad("--device: " + name.error().message());
  into = text;
  return {};
}

status set_distribution(const std::string& text, double& theta) {
  const std::string zipf = "zipf:";
  theta = 0;
  if (text == "uniform") return {};
  const auto* end = text.data() + text.size();
  if (text.starts_with(zipf)) {
    const auto read = std::from_chars(text.data() + zipf.size(), end, theta);
    if (read.ec == std::errc() && read.ptr == end && theta > 0 && theta < 1) return {};
  }
  return bad("--distribution " + text +
             "; allowed: uniform, or zipf:THETA with 0 < THETA < 1, as in zipf:0.99");
}

status set_memory(const std::string& text, std::uint64_t& into) {
  constexpr auto least = policies::row_parts_default * runtime::limits::part_memory_min;
  const auto size = parse_size(text);
  if (!size || *size < least)
    return bad("--memory " + text + "; allowed: " + format_size(least) + " to " +
               format_size(size_bytes_max));
  into = *size;
  return {};
}

status set_rows(const std::string& option, const std::string& text, rows_options& into) {
  if (option == "memory") return set_memory(text, into.memory);
  if (option == "dim")
    return set_count(option, text, 1, runtime::limits::row_dim_max, into.dim);
  if (option == "batch") return set_count(option, text, 1, counts_max, into.batch);
  if (option == "distribution") return set_distribution(text, into.zipf);
  return set_count(option, text, 1, static_cast<std::uint32_t>(runtime::limits::part_rows_max),
                   into.rows);
}

bool is_of_rows(const std::string& option) {
  return option == "rows" || option == "dim" || option == "batch" || option == "distribution" ||
         option == "memory";
}

// Returns true if an option of `tidegate bench rows` is about a cluster.
bool is_of_cluster(const std::string& option) {
  return option == "workers" || option == "shards" || option == "replicas" ||
         option == "transport" || option == "hosts" || option == "warmup" || option == "pin" ||
         option == "memory";
}

status set_one(const std::string& option, const std::string& text, bench_options& into) {
  if (option == "workers") return set_count(option, text, 1, bench_workers_max, into.workers);
  if (option == "shards")
    return set_count(option, text, 1, runtime::limits::shards_max, into.shards);
  if (option == "optimizer") into.one_optimizer = true;
  if (option == "optimizer")
    return set_word(option, text, launch::dense_optimizer_words, into.optimizer);
  if (option == "transport")
    return set_word(option, text, launch::transport_words, into.transport);
  if (option == "encrypt") return set_word(option, text, launch::truth_words, into.encrypt);
  if (option == "traces") return set_word(option, text, launch::truth_words, into.traces);
  if (option == "hosts") return set_hosts(text, into.hosts);
  if (option == "replicas")
    return set_count(option, text, 0, policies::group_size_max - 1, into.replicas);
  if (option == "iterations")
    return set_count(option, text, 1, bench_iterations_max, into.iterations);
  if (option == "warmup") return set_count(option, text, 0, 10'000, into.warmup);
  if (option == "tables") return set_count(option, text, 1, 10'000, into.tables);
  if (option == "share") return set_count(option, text, 1, 100, into.percent);
  if (option == "rounds") return set_count(option, text, 1, 1000, into.rounds);
  if (option == "threads") return set_list(option, text, counts_max, into.threads);
  if (option == "inputs") return set_list(option, text, 64, into.inputs);
  if (option == "repeat") return set_count(option, text, 1, 1000, into.repeats);
  if (option == "device") return set_device(text, into.device);
  if (is_of_rows(option)) return set_rows(option, text, into.rows);
  if (option == "chunks") return set_chunks(text, into.chunks);
  if (option == "pin") return set_pin(text, into.pin);
  if (option == "json" || option == "svg") {
    (option == "json" ? into.json : into.svg) = text;
    return text.empty() ? bad("--" + option + " is the name of a file") : status{};
  }
  if (option == "bytes") {
    const auto sizes = parse_sizes(text);
    if (!sizes) return bad("--bytes: " + sizes.error().message());
    into.bytes = *sizes;
    return {};
  }
  const auto size = parse_size(text);  // chunk
  if (!size || !is_chunk(*size)) return bad_chunk(option, text);
  into.chunk_bytes = *size;
  return {};
}

bench_options help_on(const std::string& topic) {
  bench_options asked;
  asked.topic = topic;
  return asked;
}

bench_options defaults_of(subject measured) {
  bench_options all;
  all.subject = measured;
  all.repeats = 1;
  if (measured == subject::exchange) all.bytes = {4U << 20U, 16U << 20U, 64U << 20U};
  if (measured == subject::latency) {
    all.workers = 1;
    all.bytes = {4U << 10U};
    all.iterations = 2000;
    all.warmup = 200;
  }
  if (measured == subject::rows) all.repeats = all.rows.repeats;
  if (measured == subject::device) {
    const device_options usual;
    all.device = usual.device;
    all.bytes = {usual.bytes};
    all.inputs = usual.inputs;
    all.chunks = {policies::default_chunk_bytes(1, false),
                  policies::default_chunk_bytes(1, true)};
    all.repeats = usual.repeats;
  }
  return all;
}

status check_exactness(const bench_options& all) {
  const auto each = std::uint64_t{all.workers} * exchanges_of_iteration(all.repeats);
  const auto allowed = exact_steps_max / each;
  auto iterations = all.iterations;
  if (iterations == 0)
    for (const auto bytes : all.bytes)
      iterations = std::max(iterations, default_iterations(bytes));
  if (iterations + all.warmup <= allowed) return {};
  const auto repeat = all.repeats > 1 ? " and --repeat " + std::to_string(all.repeats) : "";
  return bad(
      "--iterations " + std::to_string(iterations) + ": with " + std::to_string(all.workers) +
      " workers" + repeat + " the sums would not stay exact; allowed: " +
      std::to_string(allowed - std::min<std::uint64_t>(allowed, all.warmup)) + " at most");
}

status check_rows(const bench_options& all) {
  const std::uint64_t batches = std::uint64_t{all.workers} * all.rows.batch;
  if (!all.of_cluster) {
    if (all.threads.empty() || all.threads == std::vector{1U}) return {};
    return bad("tidegate bench rows: --threads; allowed: 1, as a table has one that writes");
  }
  if (!all.threads.empty())
    return bad("tidegate bench rows: --threads; allowed: only without a cluster");
  if (batches <= all.rows.rows) return {};
  return bad("tidegate bench rows: --rows " + std::to_string(all.rows.rows) +
             "; allowed: as many as all workers push in a clock, " + std::to_string(batches) +
             ", or more");
}

status check_together(const bench_options& all) {
  if (all.subject == subject::plot) {
    if (all.file.empty() || all.svg.empty())
      return bad("tidegate bench plot: allowed: tidegate bench plot SERIES.json --svg FILE");
    return {};
  }
  if (all.percent != 0 && !all.device.empty())
    return bad(
        "--share and --device; allowed: one of them, as tables on a device are exchanged "
        "whole");
  if (all.subject == subject::rows)
    if (auto right = check_rows(all); !right.ok()) return right;
  if (all.subject == subject::device && all.bytes.size() != 1)
    return bad("tidegate bench device: --bytes; allowed: one size, of each array");
  if (all.subject == subject::exchange || all.subject == subject::latency)
    if (auto exact = check_exactness(all); !exact.ok()) return exact;
  for (const auto bytes : all.bytes)
    if (bytes / sizeof(float) < all.tables)
      return bad("--tables " + std::to_string(all.tables) + " of " + format_size(bytes) +
                 ": a table has at least one float");
  return {};
}

runtime::expected<bench_options> parse_subject(const subject_words& selected,
                                               const arguments& args) {
  namespace style = options::command_line_style;
  bench_options all = defaults_of(selected.measured);
  options::options_description known;
  auto add = known.add_options();
  add("help,h", "");
  for (const auto& name : selected.known) add(name.c_str(), options::value<std::string>(), "");
  if (selected.measured == subject::plot) add("file", options::value<std::string>(), "");
  options::positional_options_description words;
  if (selected.measured == subject::plot) words.add("file", 1);
  try {
    const auto found = options::command_line_parser(args)
                           .options(known)
                           .positional(words)
                           .style(style::unix_style & ~style::allow_guessing)
                           .run();
    for (const auto& option : found.options) {
      if (option.string_key == "help") return help_on(selected.name);
      if (option.string_key == "file") {
        all.file = option.value.front();
        continue;
      }
      if (all.subject == subject::rows && is_of_cluster(option.string_key))
        all.of_cluster = true;
      if (auto set = set_one(option.string_key, option.value.front(), all); !set.ok())
        return runtime::fail(bad("tidegate bench " + selected.name + ": " + set.message()));
    }
  } catch (const options::unknown_option& e) {
    arguments allowed;
    for (const auto& name : selected.known) allowed.push_back("--" + name);
    const auto near = launch::nearest(e.get_option_name(), allowed);
    return runtime::fail(bad("tidegate bench " + selected.name + ": unknown option '" +
                             e.get_option_name() + "'" +
                             (near.empty() ? "" : "; did you mean '" + near + "'?") +
                             "; allowed: " + launch::join(allowed)));
  } catch (const options::error& e) {
    return runtime::fail(bad("tidegate bench " + selected.name + ": " + e.what()));
  }
  if (auto fit = check_together(all); !fit.ok()) return runtime::fail(fit);
  return all;
}

}  // namespace

runtime::expected<bench_options> parse_bench(const arguments& args) {
  if (args.empty() || args.front() == "--help" || args.front() == "-h")
    return help_on(args.size() > 1 ? args[1] : "");
  arguments known;
  for (const auto& subject : subjects()) {
    if (subject.name == args.front())
      return parse_subject(subject, arguments(args.begin() + 1, args.end()));
    known.push_back(subject.name);
  }
  const auto near = launch::nearest(args.front(), known);
  return runtime::fail(bad("tidegate bench: unknown subject '" + args.front() + "'" +
                           (near.empty() ? "" : "; did you mean '" + near + "'?") +
                           "; allowed: " + launch::join(known)));
}

std::vector<launch::command_page> bench_pages() {
  const launch::option_name help{.name = "help", .letter = 'h', .has_value = false};
  std::vector<launch::command_page> pages{
      {.name = "bench", .help = bench_help(""), .options = {help}}};
  for (const auto& subject : subjects()) {
    auto& page = pages.emplace_back(launch::command_page{
        .name = "bench " + subject.name, .help = bench_help(subject.name), .options = {help}});
    for (const auto& name : subject.known) page.options.push_back({.name = name});
  }
  return pages;
}

}  // namespace tidegate::bench
