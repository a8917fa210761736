#include "launch/bench/options.hpp"

#include <gmock/gmock.h>

#include "launch/bench/bench.hpp"
#include "launch/bench/hosts.hpp"
#include "launch/bench/sizes.hpp"

namespace tidegate::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using words = std::vector<std::string>;

std::string reply_code_of(const words& args) {
  const auto options = parse_bench(args);
  return options ? "accepted" : options.error().message();
}

TEST(sizes, in_human_units) {
  EXPECT_EQ(parse_size("4096").value(), 4096U);
  EXPECT_EQ(parse_size("64KiB").value(), 65536U);
  EXPECT_EQ(parse_size("4MiB").value(), 4U << 20U);
  EXPECT_EQ(parse_size("64GiB").value(), size_bytes_max);
  for (const auto* text :
       {"", "0", "3", "4.5MiB", "4MB", "-4", "65GiB", "99999999999GiB", "GiB"})
    EXPECT_FALSE(parse_size(text)) << text;
  for (const auto bytes : {4ULL, 4096ULL, 5ULL << 20U, 1ULL << 30U})
    EXPECT_EQ(parse_size(format_size(bytes)).value(), bytes);
}

TEST(sizes, lists) {
  EXPECT_THAT(parse_sizes("4,8KiB,1MiB").value(), ElementsAre(4U, 8192U, 1U << 20U));
  EXPECT_FALSE(parse_sizes(""));
  EXPECT_FALSE(parse_sizes("4,,8"));
  EXPECT_FALSE(parse_sizes("4,"));
  EXPECT_THAT(parse_numbers("0,2,1", 2).value(), ElementsAre(0U, 2U, 1U));
  EXPECT_FALSE(parse_numbers("3", 2));
  EXPECT_FALSE(parse_numbers("a", 2));
}

TEST(bench_options, exchange) {
  const auto all = parse_bench(
      {"exchange",     "--workers", "4",           "--shards=2", "--bytes",    "4MiB,64MiB",
       "--optimizer",  "adam",      "--transport", "tcp",        "--replicas", "1",
       "--iterations", "7",         "--warmup",    "1",          "--tables",   "3",
       "--chunk",      "1MiB",      "--pin",       "0,1",        "--json",     "j",
       "--svg",        "s",         "--traces",    "false"});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->subject, subject::exchange);
  EXPECT_EQ(all->workers, 4U);
  EXPECT_EQ(all->shards, 2U);
  EXPECT_EQ(all->replicas, 1U);
  EXPECT_THAT(all->bytes, ElementsAre(4U << 20U, 64U << 20U));
  EXPECT_EQ(all->optimizer, policies::optimizer_kind::adam);
  EXPECT_EQ(all->transport, policies::transport_kind::tcp);
  EXPECT_EQ(all->iterations, 7U);
  EXPECT_EQ(all->warmup, 1U);
  EXPECT_EQ(all->tables, 3U);
  EXPECT_FALSE(all->traces);
  EXPECT_EQ(all->chunk_bytes, 1U << 20U);
  EXPECT_EQ(all->pin, "0,1");
  EXPECT_EQ(all->json, "j");
  EXPECT_EQ(all->svg, "s");
}

TEST(bench_options, hosts_are_addresses_with_commands) {
  const auto all = parse_bench({"exchange", "--hosts", "10.0.0.1, 10.0.0.2 ip netns exec b"});
  ASSERT_TRUE(all) << all.error().message();
  policies::cluster_spec spec;
  spec.jobs.emplace_back();
  spread(all->hosts, spec);
  ASSERT_EQ(spec.hosts.size(), 2U);
  EXPECT_EQ(spec.hosts[1].address, "10.0.0.2");
  EXPECT_THAT(spec.hosts[1].prefix, testing::ElementsAre("ip", "netns", "exec", "b"));
  EXPECT_EQ(spec.control_host, "10.0.0.1");
  EXPECT_EQ(spec.shard_hosts, std::vector{spec.hosts[1].name});
  EXPECT_EQ(spec.jobs[0].hosts, std::vector{spec.hosts[0].name});
}

TEST(bench_options, says_what_is_allowed) {
  EXPECT_THAT(reply_code_of({"exchnage"}), HasSubstr("did you mean 'exchange'?"));
  EXPECT_THAT(reply_code_of({"exchange", "--worker", "2"}),
              HasSubstr("did you mean '--workers'?"));
  EXPECT_THAT(reply_code_of({"exchange", "--workers", "0"}), HasSubstr("allowed: 1 to 64"));
  EXPECT_THAT(reply_code_of({"exchange", "--optimizer", "lion"}),
              HasSubstr("sgd, momentum, nesterov, adagrad, adam, adamw, assign, proximal"));
  EXPECT_THAT(reply_code_of({"exchange", "--transport", "udp"}),
              HasSubstr("auto, shm, tcp, ucx, rdma"));
  EXPECT_THAT(reply_code_of({"exchange", "--hosts", "10.0.0.1"}), HasSubstr("two hosts"));
  EXPECT_THAT(reply_code_of({"latency", "--hosts", "10.0.0.1,"}), HasSubstr("two hosts"));
  EXPECT_THAT(reply_code_of({"exchange", "--pin", "left"}), HasSubstr("auto, none"));
  EXPECT_THAT(reply_code_of({"exchange", "--bytes", "7"}), HasSubstr("multiple of 4"));
  EXPECT_THAT(reply_code_of({"exchange", "--chunk", "4"}), HasSubstr("64 to 64MiB"));
  EXPECT_THAT(reply_code_of({"exchange", "word"}), HasSubstr("too many positional"));
  EXPECT_THAT(reply_code_of({"latency", "--workers", "2"}), HasSubstr("unknown option"));
  EXPECT_THAT(reply_code_of({"roofline", "--threads", "0"}), HasSubstr("1 and more"));
  EXPECT_THAT(reply_code_of({"plot"}), HasSubstr("--svg"));
}

TEST(bench_options, replicas_are_as_many_as_a_cluster_may_have) {
  EXPECT_THAT(reply_code_of({"exchange", "--replicas", "3"}), HasSubstr("0 to 2"));
}

TEST(bench_options, iterations_and_tables_have_bounds) {
  EXPECT_EQ(reply_code_of({"exchange", "--workers", "1", "--iterations", "100000"}),
            "accepted");
  EXPECT_THAT(reply_code_of({"exchange", "--iterations", "100001"}), HasSubstr("1 to 100000"));
  EXPECT_THAT(reply_code_of({"exchange", "--workers", "64", "--iterations", "16384"}),
              HasSubstr("exact"));
  EXPECT_THAT(reply_code_of({"exchange", "--bytes", "8", "--tables", "3"}),
              HasSubstr("--tables 3"));
}

TEST(bench_options, device) {
  const auto usual = parse_bench({"device"});
  ASSERT_TRUE(usual) << usual.error().message();
  EXPECT_EQ(usual->device, "cuda:0");
  EXPECT_THAT(usual->bytes, ElementsAre(256U << 20U));
  EXPECT_THAT(usual->inputs, ElementsAre(2U, 4U, 8U));
  EXPECT_THAT(usual->chunks, ElementsAre(256U << 10U, 16U << 20U));
  const auto all = parse_bench({"device", "--device", "emulated:3", "--bytes", "4KiB",
                                "--inputs", "3,64", "--chunks", "1KiB", "--repeat", "2"});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->subject, subject::device);
  EXPECT_EQ(all->device, "emulated:3");
  EXPECT_THAT(all->inputs, ElementsAre(3U, 64U));
  EXPECT_THAT(all->chunks, ElementsAre(1U << 10U));
  EXPECT_EQ(all->repeats, 2U);
}

TEST(bench_options, device_says_what_is_allowed) {
  EXPECT_THAT(reply_code_of({"device", "--device", "gpu0"}), HasSubstr("write cuda:N"));
  EXPECT_THAT(reply_code_of({"device", "--bytes", "4KiB,8KiB"}), HasSubstr("one size"));
  EXPECT_THAT(reply_code_of({"device", "--bytes", "7"}), HasSubstr("multiple of 4"));
  EXPECT_THAT(reply_code_of({"device", "--inputs", "65"}), HasSubstr("0 to 64"));
  EXPECT_THAT(reply_code_of({"device", "--inputs", "0"}), HasSubstr("1 and more"));
  EXPECT_THAT(reply_code_of({"device", "--chunks", "1MiB,4"}), HasSubstr("64 to 64MiB"));
  EXPECT_THAT(reply_code_of({"device", "--repeat", "0"}), HasSubstr("1 to 1000"));
  EXPECT_THAT(reply_code_of({"device", "--workers", "2"}), HasSubstr("unknown option"));
  EXPECT_THAT(reply_code_of({"divice"}), HasSubstr("did you mean 'device'?"));
}

TEST(bench_options, rows) {
  const auto usual = parse_bench({"rows"});
  ASSERT_TRUE(usual) << usual.error().message();
  EXPECT_EQ(usual->rows.rows, 10'000'000U);
  EXPECT_EQ(usual->rows.dim, 32U);
  EXPECT_EQ(usual->rows.batch, 16'384U);
  EXPECT_EQ(usual->rows.zipf, 0);
  EXPECT_EQ(usual->repeats, 100U);
  const auto all =
      parse_bench({"rows", "--rows", "1000", "--dim", "8", "--batch", "64", "--distribution",
                   "zipf:0.99", "--threads", "1", "--repeat", "3", "--json", "-"});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->subject, subject::rows);
  EXPECT_EQ(all->rows.rows, 1'000U);
  EXPECT_EQ(all->rows.dim, 8U);
  EXPECT_EQ(all->rows.batch, 64U);
  EXPECT_EQ(all->rows.zipf, 0.99);
  EXPECT_EQ(all->repeats, 3U);
  EXPECT_EQ(all->rows.memory, 0U);
  const auto in_file = parse_bench({"rows", "--workers", "2", "--memory", "64MiB"});
  ASSERT_TRUE(in_file) << in_file.error().message();
  EXPECT_EQ(in_file->rows.memory, 64U << 20U);
}

TEST(bench_options, rows_say_what_is_allowed) {
  for (const auto* text : {"0", "4095KiB", "65GiB", "some"})
    EXPECT_THAT(reply_code_of({"rows", "--workers", "1", "--memory", text}),
                HasSubstr("4MiB to 64GiB"));
  for (const auto* text : {"zipf", "zipf:", "zipf:1", "zipf:0", "zipf:-1", "zipf:0.5x", "even"})
    EXPECT_THAT(reply_code_of({"rows", "--distribution", text}), HasSubstr("zipf:0.99"));
  EXPECT_THAT(reply_code_of({"rows", "--threads", "2"}), HasSubstr("allowed: 1"));
  EXPECT_THAT(reply_code_of({"rows", "--rows", "0"}), HasSubstr("1 to 1073741824"));
  EXPECT_THAT(reply_code_of({"rows", "--dim", "4097"}), HasSubstr("1 to 4096"));
  EXPECT_THAT(reply_code_of({"rows", "--batch", "0"}), HasSubstr("1 to 1000000"));
}

TEST(bench_options, help_on_every_subject) {
  for (const words& args : {words{}, words{"--help"}, words{"exchange", "--help"}})
    EXPECT_EQ(parse_bench(args)->subject, subject::help);
  EXPECT_EQ(parse_bench({"roofline", "-h"})->topic, "roofline");
  EXPECT_THAT(bench_help(""), HasSubstr("tidegate bench roofline"));
  EXPECT_THAT(bench_help("exchange"), HasSubstr("--replicas"));
  EXPECT_THAT(bench_help("latency"), HasSubstr("p99"));
  EXPECT_THAT(bench_help("roofline"), HasSubstr("--inputs"));
  EXPECT_THAT(bench_help("rows"), HasSubstr("--distribution"));
  EXPECT_THAT(bench_help("device"), HasSubstr("emulated:N"));
  EXPECT_THAT(bench_help("plot"), HasSubstr("series"));
}

TEST(is_bench, knows_its_commands) {
  EXPECT_TRUE(is_bench({"bench"}));
  EXPECT_TRUE(is_bench({"help", "bench"}));
  EXPECT_FALSE(is_bench({"help"}));
  EXPECT_FALSE(is_bench({"launch", "bench"}));
  EXPECT_FALSE(is_bench({}));
}

}  // namespace
}  // namespace tidegate::bench
