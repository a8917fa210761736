#include "launch/bench/bench.hpp"

#include <iostream>

#include "launch/bench/options.hpp"
#include "launch/bench/roofline.hpp"
#include "launch/command_line.hpp"
#include "launch/files.hpp"

namespace tidegate::bench {

namespace {

using launch::exit_code;
using runtime::status;

// Text for people to standard output, JSON to its file; "-" puts JSON in place of the text.
status put_out(const std::string& text, const std::string& json, const std::string& json_file) {
  std::cout << (json_file == "-" ? json : text) << std::flush;
  if (json_file.empty() || json_file == "-") return {};
  return launch::write_file_atomically(json_file, json);
}

status run_roofline(const bench_options& options) {
  roofline_options wanted;
  wanted.bytes = options.bytes;
  wanted.threads = options.threads;
  if (!options.inputs.empty()) wanted.inputs = options.inputs;
  wanted.rounds = options.rounds;
  const auto ceilings = measure_roofline(wanted);
  if (!ceilings) return ceilings.error();
  return put_out(roofline_table(*ceilings), roofline_json(*ceilings), options.json);
}

status run_subject(const bench_options& options) {
  switch (options.subject) {
    case subject::roofline:
      return run_roofline(options);
    case subject::exchange:
    case subject::latency:
    case subject::plot:
    case subject::help:
      break;
  }
  std::cout << bench_help(options.topic);
  return {};
}

int exit_with(const status& result) {
  if (result.ok()) return static_cast<int>(exit_code::done);
  std::cerr << "tidegate: " << result.message() << "\n";
  return static_cast<int>(result.code() == runtime::errc::invalid_argument
                              ? exit_code::bad_usage
                              : exit_code::job_failed);
}

}  // namespace

bool is_bench(const std::vector<std::string>& args) {
  if (args.empty()) return false;
  const bool help = args[0] == "help" || args[0] == "--help" || args[0] == "-h";
  return args[0] == "bench" || (help && args.size() > 1 && args[1] == "bench");
}

int run_bench(const std::vector<std::string>& args) {
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (args[0] != "bench") rest = {"--help"};
  const auto options = parse_bench(rest);
  return exit_with(options ? run_subject(*options) : options.error());
}

}  // namespace tidegate::bench
