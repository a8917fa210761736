// Every kind of bad cluster file, and what is said about it.
#include <algorithm>

#include <gmock/gmock.h>

#include "tests/launch/config/bad_job.hpp"
#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class bad_jobs : public testing::TestWithParam<bad_job> {};

TEST_P(bad_jobs, are_refused_with_place_fault_and_what_is_allowed) {
  expect_refused(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    numbers, bad_jobs,
    testing::Values(
        bad_job{"    workers: 0\n", "c.yaml:5:14: jobs.j.workers", "0 is too small",
                "1 to 1024"},
        bad_job{"    workers: 1025\n", "c.yaml:5:14", "1025 is too large", "1 to 1024"},
        bad_job{"    workers: -1\n", "c.yaml:5:14", "-1 is negative", "1 to 1024"},
        bad_job{"    workers: four\n", "c.yaml:5:14", "'four' is no number", "1 to 1024"},
        bad_job{"    workers: 1.5\n", "c.yaml:5:14", "'1.5' is no number", "1 to 1024"},
        bad_job{"    workers:\n", "c.yaml:5:5", "has no value", "1 to 1024"},
        bad_job{"    workers: [1]\n", "c.yaml:5:14", "is a list", "1 to 1024"},
        bad_job{"    seed: 18446744073709551616\n", "c.yaml:5:11", "no number",
                "18446744073709551615"},
        bad_job{"    state: {max: 1KiB}\n", "c.yaml:5:18: jobs.j.state.max", "is too small",
                "0, or 4KiB to"},
        bad_job{"    state: {max: 4097}\n", "c.yaml:5:18", "no multiple of 8", "4KiB"},
        bad_job{"    state: 5MiB\n", "c.yaml:5:12", "is a plain value", "a map"},
        bad_job{"    state: {mirror_every: often}\n", "c.yaml:5:27", "'often'", "0 to 1000000"},
        bad_job{"    state: {max: 17MiB, mirror_every: 1}\n", "c.yaml:5:39",
                "a version that is copied has at most 16MiB", "0, or a smaller `max`"},
        bad_job{"    seed: -1\n", "c.yaml:5:11", "negative", "0 to"}));

INSTANTIATE_TEST_SUITE_P(
    checkpoints, bad_jobs,
    testing::Values(bad_job{"    checkpoint: {every: 1m, path: shared}\n",
                            "c.yaml:5:35: jobs.j.checkpoint.path", "'shared'",
                            "an absolute path"},
                    bad_job{"    checkpoint: {every: 1m, path: \"s3://B/a\"}\n",
                            "c.yaml:5:35: jobs.j.checkpoint.path", "'s3://B/a'",
                            "an absolute path, or s3://BUCKET/PREFIX"},
                    bad_job{"    checkpoint: {every: 1m, path: }\n", "c.yaml:5:29",
                            "has no value", "an absolute path"},
                    bad_job{"    checkpoint: {path: /shared}\n",
                            "c.yaml:5:17: jobs.j.checkpoint.every", "is missing", "N clocks"}));

INSTANTIATE_TEST_SUITE_P(
    consistency, bad_jobs,
    testing::Values(
        bad_job{"    consistency: {policy: ssp, staleness: -1}\n", "c.yaml:5:43",
                "-1 is negative", "only with policy ssp"},
        bad_job{"    consistency: {policy: ssp}\n", "c.yaml:5:18: jobs.j.consistency.staleness",
                "is missing", "0 to 1000000"},
        bad_job{"    consistency: {policy: bsp, staleness: 3}\n", "c.yaml:5:43",
                "no meaning with policy bsp", "only with policy ssp"},
        bad_job{"    consistency: {policy: async, staleness: 3}\n", "c.yaml:5:45",
                "no meaning with policy async", "only with policy ssp"},
        bad_job{"    consistency: {policy: sbp}\n", "c.yaml:5:27", "'sbp'", "bsp, ssp, async"},
        bad_job{"    consistency: bsp\n", "c.yaml:5:18", "is a plain value", "a map"}));

INSTANTIATE_TEST_SUITE_P(
    optimizers, bad_jobs,
    testing::Values(
        bad_job{"    optimizer: {learning_rate: .nan}\n", "c.yaml:5:32", ".nan", "finite"},
        bad_job{"    optimizer: {learning_rate: .inf}\n", "c.yaml:5:32", ".inf", "finite"},
        bad_job{"    optimizer: {learning_rate: 1e99}\n", "c.yaml:5:32", "1e99", "finite"},
        bad_job{"    optimizer: {learning_rate: -0.1}\n", "c.yaml:5:32", "-0.1", ">= 0"},
        bad_job{"    optimizer: {learning_rate: fast}\n", "c.yaml:5:32", "no number", "finite"},
        bad_job{"    optimizer: {name: momentum, momentum: 1}\n", "c.yaml:5:43", "1 is", "< 1"},
        bad_job{"    optimizer: {name: momentum, momentum: -0.1}\n", "c.yaml:5:43", "-0.1",
                ">= 0"},
        bad_job{"    optimizer: {name: sgd, momentum: 0.9}\n", "c.yaml:5:38", "does not belong",
                "only with name momentum"},
        bad_job{"    optimizer: {name: momentum, beta1: 0.9}\n", "c.yaml:5:40",
                "does not belong", "only with name adam"},
        bad_job{"    optimizer: {name: adam, beta2: 1.0}\n", "c.yaml:5:36", "1.0", "< 1"},
        bad_job{"    optimizer: {name: adam, epsilon: 0}\n", "c.yaml:5:38", "0 is", "> 0"},
        bad_job{"    optimizer: {name: adagrad, beta1: 0.9}\n", "c.yaml:5:39",
                "does not belong", "only with name adam, adamw or plugin:NAME"},
        bad_job{"    optimizer: {name: nesterov, momentum: 1}\n", "c.yaml:5:43", "1 is", "< 1"},
        bad_job{"    optimizer: {name: sgd, epsilon: 1}\n", "c.yaml:5:37", "does not belong",
                "only with name adagrad, adam, adamw, rowwise_adagrad, group_adagrad or "
                "plugin:NAME"},
        bad_job{"    optimizer: {name: adam, weight_decay: 0.1}\n", "c.yaml:5:43",
                "does not belong", "only with name adamw"},
        bad_job{"    optimizer: {name: adamw, weight_decay: -0.1}\n", "c.yaml:5:44", "-0.1",
                ">= 0"},
        bad_job{"    optimizer: {name: adamw, weight_decay: .inf}\n", "c.yaml:5:44", ".inf",
                "finite"},
        bad_job{"    optimizer: {name: assign, schedule: {kind: constant}}\n", "c.yaml:5:41",
                "does not belong", "only with name sgd, momentum"},
        bad_job{"    optimizer: {clip_value: -1}\n", "c.yaml:5:29", "-1", ">= 0"},
        bad_job{"    optimizer: {name: 'plugin:'}\n", "c.yaml:5:23", "plugin:", "plugin:NAME"},
        bad_job{"    optimizer: {name: 'plugin:a b'}\n", "c.yaml:5:23", "plugin:a b",
                "plugin:NAME"},
        bad_job{"    optimizer: {name: plugin:lion, states: 3}\n", "c.yaml:5:44", "3",
                "0 to 2"},
        bad_job{"    optimizer: {name: sgd, states: 1}\n", "c.yaml:5:36", "does not belong",
                "plugin:NAME"},
        bad_job{"    optimizer: {name: sgd, reduce: 'plugin:'}\n", "c.yaml:5:36",
                "plugin:", "plugin:NAME"},
        bad_job{"    optimizer: {schedule: {clocks: 5}}\n", "c.yaml:5:27", "is missing",
                "constant, step, cosine"},
        bad_job{"    optimizer: {schedule: {kind: linear}}\n", "c.yaml:5:34", "'linear'",
                "constant, step, cosine"},
        bad_job{"    optimizer: {schedule: {kind: step}}\n", "c.yaml:5:27", "is missing",
                "1 to 4294967295"},
        bad_job{"    optimizer: {schedule: {kind: cosine, clocks: 0}}\n", "c.yaml:5:50", "0",
                "1 to 4294967295"},
        bad_job{"    optimizer: {schedule: {kind: cosine, clocks: 4, factor: 2}}\n",
                "c.yaml:5:61", "2", ">= 0 and <= 1"},
        bad_job{"    optimizer: {schedule: {kind: constant, clocks: 4}}\n", "c.yaml:5:52",
                "does not belong", "only with kind step or cosine"},
        bad_job{"    optimizer: {schedule: {kind: step, clocks: 4, warmup: -1}}\n",
                "c.yaml:5:59", "-1", "0 to 4294967295"},
        bad_job{"    optimizer: {name: adagrid}\n", "c.yaml:5:23", "'adagrid'", "adagrad"}));

INSTANTIATE_TEST_SUITE_P(
    tables, bad_jobs,
    testing::Values(
        bad_job{"    tables: {t: {}}\n", "c.yaml:5:17: jobs.j.tables.t.shape", "is missing",
                "up to 8"},
        bad_job{"    tables: {t: {shape: 5}}\n", "c.yaml:5:25", "a plain value", "up to 8"},
        bad_job{"    tables: {t: {shape: [0]}}\n", "c.yaml:5:26", "'0' is no dimension",
                ">= 1"},
        bad_job{"    tables: {t: {shape: [-2]}}\n", "c.yaml:5:26", "'-2' is no dimension",
                ">= 1"},
        bad_job{"    tables: {t: {shape: [1048576, 1048577]}}\n", "c.yaml:5:25",
                "too many elements", "2^40"},
        // The product is 0 modulo 2^64.
        bad_job{"    tables: {t: {shape: [4294967296, 4294967296]}}\n", "c.yaml:5:25",
                "too many elements", "2^40"},
        bad_job{"    tables: {t: {shape: [1, 1, 1, 1, 1, 1, 1, 1, 1]}}\n", "c.yaml:5:25",
                "9 dimensions", "up to 8"},
        bad_job{"    tables: {t: {shape: [1], init: {uniform: -1}}}\n", "c.yaml:5:46", "-1",
                ">= 0"},
        bad_job{"    tables: {t: {shape: [1], init: {pushed: true, constant: 1}}}\n",
                "c.yaml:5:61", "pushed and another way are given", "or {pushed: true}"},
        bad_job{"    tables: {t: {shape: [1], init: {pushed: maybe}}}\n", "c.yaml:5:45",
                "'maybe'", "true, false"},
        bad_job{"    tables: {t: {shape: [1], init: {uniform: 1, constant: 1}}}\n",
                "c.yaml:5:59", "both uniform and constant", "{uniform: a}, {constant: v} or"},
        bad_job{"    tables: {t: {shape: [1], init: {constant: .inf}}}\n", "c.yaml:5:47",
                ".inf", "finite"},
        bad_job{"    tables: {t: {shape: [1], optimizer: {momentum: 0.5}}}\n", "c.yaml:5:52",
                "does not belong", "momentum"},
        bad_job{"    tables: {t: 3}\n", "c.yaml:5:17", "a plain value", "a map with a shape"},
        bad_job{"    tables: [t]\n", "c.yaml:5:13", "is a list", "a map of tables"},
        bad_job{"    tables: {\"\": {shape: [1]}}\n", "c.yaml:5:14", "no table name",
                "printable"},
        bad_job{"    tables: {t: {shape: [268435456]}}\n    reduce: max\n", "c.yaml:6:13",
                "'max'", "mean, sum"}));

INSTANTIATE_TEST_SUITE_P(
    rest, bad_jobs,
    testing::Values(bad_job{"    gradients: {clip_norm: -1}\n", "c.yaml:5:28", "-1", ">= 0"},
                    bad_job{"    gradients: {clip_norm: .inf}\n", "c.yaml:5:28", ".inf",
                            "finite"},
                    bad_job{"    gradients: {clip_norm: 1}\n    consistency: {policy: async}\n",
                            "c.yaml:5:28", "under `consistency: async`", "`consistency: bsp`"},
                    bad_job{"    gradients: {not_finite: ignore}\n", "c.yaml:5:29", "'ignore'",
                            "refuse, allow"},
                    bad_job{"    env: {TIDEGATE_JOB: x}\n", "c.yaml:5:11", "is set by tidegate",
                            "TIDEGATE_"},
                    bad_job{"    env: {1A: x}\n", "c.yaml:5:11",
                            "no name of an environment variable", "letters"},
                    bad_job{"    env: {A: [x]}\n", "c.yaml:5:14", "is a list", "text"}));

TEST(bad_command, is_refused) {
  const std::string head = "cluster: {name: x}\njobs:\n  j:\n";
  EXPECT_THAT(refusal(head + "    workers: 1\n"),
              StartsWith("c.yaml:3:3: jobs.j.command: is missing; allowed: "));
  EXPECT_THAT(refusal(head + "    command: []\n"),
              StartsWith("c.yaml:4:14: jobs.j.command: is empty"));
  EXPECT_THAT(refusal(head + "    command: ''\n"), HasSubstr("is empty"));
  EXPECT_THAT(refusal(head + "    command: {a: b}\n"), HasSubstr("is a map"));
  EXPECT_THAT(refusal(head + "    command: [a, [b]]\n"), StartsWith("c.yaml:4:18"));
  EXPECT_THAT(refusal(head + "    command: ['']\n"), StartsWith("c.yaml:4:15"));
}

TEST(bad_cluster, is_refused) {
  const auto with = [](const std::string& keys) {
    return refusal("cluster: {name: x, " + keys + "}\njobs: {j: {command: a}}\n");
  };
  EXPECT_THAT(with("shards: 0"),
              AllOf(HasSubstr(":1:28: cluster.shards: 0"), HasSubstr("1 to 1024")));
  EXPECT_THAT(with("shards: 3, max_shards: 2"),
              HasSubstr("2 is too small; allowed: cluster.shards to 1024"));
  EXPECT_THAT(with("max_shards: 1025"), HasSubstr("1025 is too large"));
  EXPECT_THAT(with("transport: udp"),
              HasSubstr("'udp' is not allowed; allowed: auto, shm, tcp, ucx, rdma"));
  EXPECT_THAT(with("chunk_bytes: 100"), HasSubstr("100 is no multiple of 64"));
  EXPECT_THAT(with("chunk_bytes: 32"), HasSubstr("32 is too small"));
  EXPECT_THAT(with("chunk_bytes: 128MiB"), HasSubstr("128MiB is too large"));
  EXPECT_THAT(with("chunk_bytes: 64kb"), HasSubstr("'64kb' is no size in bytes"));
  EXPECT_THAT(with("start_timeout: 30"), HasSubstr("'30' is no duration; allowed: 1ms to 1h"));
  EXPECT_THAT(with("start_timeout: 0"), HasSubstr("0 is too small"));
  EXPECT_THAT(with("control: {port: 65536}"),
              HasSubstr("65536 is too large; allowed: 0 to 65535"));
  EXPECT_THAT(with("control: {port: -1}"), HasSubstr("-1 is negative; allowed: 0 to 65535"));
  EXPECT_THAT(with("control: {host: 'a b'}"), HasSubstr("'a b' is not allowed"));
  EXPECT_THAT(refusal("cluster: {name: a/b}\njobs: {j: {command: a}}\n"),
              HasSubstr("cluster.name: 'a/b'"));
  EXPECT_THAT(refusal("cluster: {}\njobs: {j: {command: a}}\n"),
              HasSubstr("cluster.name: is missing"));
  EXPECT_EQ(refusal("jobs: {j: {command: a}}\n"),
            "c.yaml:1:1: cluster: is missing; allowed: a map");
}

TEST(bad_aggregators, are_refused) {
  const auto with = [](const std::string& value) {
    return refusal(with_job("    aggregators: " + value + "\n"));
  };
  const std::string place = "c.yaml:5:18: jobs.j.aggregators: ";
  const std::string allowed = "; allowed: none, per_host, per_rack, or {fan_in: k}";
  EXPECT_EQ(with("per_room"), place + "'per_room' is not allowed" + allowed);
  EXPECT_EQ(with("per_rack"),
            place + "is per_rack, and no host has a rack (cluster.hosts.*.rack)" + allowed);
  EXPECT_EQ(with("{}"), place + "is a map without fan_in" + allowed);
  EXPECT_EQ(with("[2]"), place + "is a list" + allowed);
  EXPECT_EQ(
      with("{fan_in: 6}"),
      "c.yaml:5:27: jobs.j.aggregators.fan_in: 6 is not valid; allowed: 2 to 1024, a power of "
      "two: sums follow a binary tree");
  EXPECT_THAT(with("{fan_in: 1}"), HasSubstr("jobs.j.aggregators.fan_in: "));
  EXPECT_THAT(with("{fan_in: 2048}"), HasSubstr("allowed: 2 to 1024, a power of two"));
  EXPECT_THAT(with("{fan_on: 2}"), HasSubstr("did you mean 'fan_in'?"));
}

TEST(bad_hosts, are_refused) {
  const auto with = [](const std::string& keys, const std::string& job = "") {
    return refusal("cluster: {name: x, " + keys + "}\njobs: {j: {command: a" + job + "}}\n");
  };
  const std::string two = "hosts: {a: {address: x1}, b: {address: x2}}, ";
  EXPECT_EQ(with("shards: 1, hosts: {a: }"), "accepted") << "one host needs no address";
  EXPECT_EQ(with(two + "shards: 1", ", hosts: [b]"), "accepted");
  EXPECT_EQ(with("hosts: {a: {address: [x1, y1]}, b: {address: x2}}"), "accepted");
  EXPECT_THAT(with("hosts: {a: {address: [x1, x1]}}"),
              HasSubstr("cluster.hosts.a.address: has 'x1' twice"));
  EXPECT_THAT(with("hosts: {a: {address: [x1, 'y 1']}}"),
              HasSubstr("cluster.hosts.a.address: has 'y 1', which is no address"));
  EXPECT_THAT(with("hosts: {a: {address: []}}"),
              HasSubstr("cluster.hosts.a.address: is empty"));
  EXPECT_THAT(with("hosts: {a: {address: {}}}"),
              HasSubstr("cluster.hosts.a.address: is a map"));
  EXPECT_THAT(with("hosts: {a b: {}}"), HasSubstr("'a b' is no host name"));
  EXPECT_THAT(with("hosts: {a: 1}"), HasSubstr("cluster.hosts.a: is a plain value"));
  EXPECT_THAT(with("hosts: {a: {adress: x}}"), HasSubstr("did you mean 'address'?"));
  EXPECT_THAT(with("hosts: {a: {prefix: ip}}"),
              HasSubstr("cluster.hosts.a.prefix: is a plain value"));
  EXPECT_EQ(with("hosts: {a: {address: x1}, b: {ssh: me@x2, port: 2222, key: k, room: 0}}"),
            "accepted");
  EXPECT_THAT(with("hosts: {a: {ssh: -oProxyCommand=x}}"), HasSubstr("cluster.hosts.a.ssh"));
  EXPECT_THAT(with("hosts: {a: {ssh: 'me@'}}"), HasSubstr("cluster.hosts.a.ssh"));
  EXPECT_THAT(with("hosts: {a: {ssh: b, prefix: [env]}}"),
              HasSubstr("cluster.hosts.a.ssh: goes with no prefix"));
  EXPECT_THAT(with("hosts: {a: {key: k}}"),
              HasSubstr("cluster.hosts.a.key: is of no use without ssh"));
  EXPECT_EQ(with("engine: slurm"), "accepted");
  EXPECT_EQ(with("engine: ray"), "accepted");
  EXPECT_EQ(with("engine: mpi, hosts: {a: {}, b: {}}"), "accepted") << "their names will do";
  EXPECT_THAT(with("engine: mpi"), HasSubstr("mpi needs the hosts by name"));
  EXPECT_THAT(with("engine: slum"), HasSubstr("cluster.engine"));
  EXPECT_THAT(with("engine_program: srun"), HasSubstr("is of no use without an engine"));
  EXPECT_THAT(with("engine: slurm, hosts: {a: {ssh: b}}"),
              HasSubstr("has an ssh or a prefix, and cluster.engine starts all agents"));
  EXPECT_THAT(with("hosts: {a: {ssh: b, port: 0}}"), HasSubstr("cluster.hosts.a.port"));
  EXPECT_THAT(with("hosts: {a: {address: x, room: -1}}"), HasSubstr("cluster.hosts.a.room"));
  EXPECT_THAT(with("hosts: {a: {address: x}, b: {}}"),
              HasSubstr("cluster.hosts.b: has no address, and with several hosts"));
  EXPECT_THAT(with(two + "transport: shm"), HasSubstr("shm reaches no other host"));
  EXPECT_THAT(with(two + "coordinator_host: blue"),
              HasSubstr("cluster.coordinator_host: 'blue' is no host; allowed: a, b"));
  EXPECT_THAT(with(two + "shard_hosts: [a, a]"), HasSubstr("'a' is there twice"));
  EXPECT_THAT(with("shard_hosts: a"), HasSubstr("cluster.shard_hosts: is a plain value"));
  EXPECT_THAT(
      with("shards: 1", ", hosts: [a]"),
      HasSubstr("jobs.j.hosts: 'a' is no host; allowed: names in cluster.hosts, which"));
}

TEST(bad_jobs_map, is_refused) {
  EXPECT_THAT(refusal("cluster: {name: x}\n"), HasSubstr("jobs: is missing"));
  EXPECT_THAT(refusal("cluster: {name: x}\njobs: {}\n"),
              StartsWith("c.yaml:2:7: jobs: holds no job"));
  EXPECT_THAT(refusal("cluster: {name: x}\njobs:\n"),
              StartsWith("c.yaml:2:1: jobs: has no value"));
  EXPECT_THAT(refusal("cluster: {name: x}\njobs: {j: 3}\n"),
              HasSubstr("jobs.j: is a plain value"));
  EXPECT_THAT(refusal("cluster: {name: x}\njobs: {a b: {command: a}}\n"),
              StartsWith("c.yaml:2:8: 'a b' is no job name"));
}

TEST(unknown_keys, get_the_nearest_known_one) {
  EXPECT_EQ(
      refusal("cluster: {name: x, shard: 2}\njobs: {j: {command: a}}\n"),
      "c.yaml:1:20: unknown key 'shard' in cluster; did you mean 'shards'?; allowed: name, "
      "engine, engine_program, "
      "hosts, coordinator_host, shards, max_shards, replicas, shard_hosts, transport, "
      "chunk_bytes, "
      "memory_check, traces, rows_dir, plugins, plugin_timeout, "
      "control, "
      "start_timeout");
  EXPECT_THAT(refusal(with_job("    optimizer: {learning_rat: 1}\n")),
              HasSubstr("did you mean 'learning_rate'?"));
  EXPECT_THAT(refusal(with_job("    optimizer: {name: adamw, weight_deca: 1}\n")),
              HasSubstr("did you mean 'weight_decay'?"));
  EXPECT_THAT(refusal(with_job("    wokers: 3\n")), HasSubstr("did you mean 'workers'?"));
  EXPECT_THAT(refusal(with_job("    tables: {t: {shape: [1], intt: {}}}\n")),
              HasSubstr("in jobs.j.tables.t; did you mean 'init'?"));
  EXPECT_THAT(refusal("zzz: 1\n" + with_job("")),
              StartsWith("c.yaml:1:1: unknown key 'zzz' in the file; allowed: cluster, "
                         "security, monitor, otlp, supervision, faults, jobs"));
}

TEST(all_problems, are_listed_at_once_in_the_order_of_the_file) {
  const auto text = refusal(
      "cluster: {name: x, shards: 0, foo: 1}\njobs:\n  a:\n    workers: 0\n  b:\n    command: "
      "[]\n"
      "    optimizer: {learning_rate: -1}\n");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
  EXPECT_THAT(text,
              AllOf(HasSubstr("c.yaml:1:28: cluster.shards"), HasSubstr("unknown key 'foo'"),
                    HasSubstr("jobs.a.workers"), HasSubstr("jobs.a.command: is missing"),
                    HasSubstr("jobs.b.command: is empty"), HasSubstr("learning_rate: -1")));
  EXPECT_LT(text.find("c.yaml:1:28"), text.find("c.yaml:4:"));
  EXPECT_LT(text.find("c.yaml:4:"), text.find("c.yaml:7:"));
}

TEST(duplicate_keys, are_refused) {
  EXPECT_EQ(refusal("cluster: {name: x}\njobs:\n  j: {command: a}\n  j: {command: b}\n"),
            "c.yaml:4:3: key 'j' is given twice, first at c.yaml:3:3; allowed: once");
  EXPECT_THAT(refusal(with_job("    seed: 1\n    seed: 1\n")),
              HasSubstr("'seed' is given twice"));
  EXPECT_THAT(refusal(with_job("    tables: {t: {shape: [1]}, t: {shape: [2]}}\n")),
              HasSubstr("'t' is given twice"));
}

TEST(syntax_errors, have_a_place) {
  EXPECT_THAT(refusal("cluster: [1,\n"), StartsWith("c.yaml:1:10: not valid YAML: "));
  EXPECT_THAT(refusal("cluster: {name: x}\n}\n"), StartsWith("c.yaml:2:1: not valid YAML: "));
  EXPECT_THAT(refusal("a: b: c\n"), StartsWith("c.yaml:1:5: not valid YAML: "));
  EXPECT_EQ(refusal("cluster:\n\tname: x\n"),
            "c.yaml:2:1: not valid YAML: a tab in the indentation; allowed: spaces");
  EXPECT_EQ(refusal("cluster:\n  name: x\n  \tshards: 2\n"),
            "c.yaml:3:3: not valid YAML: a tab in the indentation; allowed: spaces");
}

TEST(odd_documents, are_refused) {
  EXPECT_THAT(refusal(""), StartsWith("c.yaml:1:1: the file is empty"));
  EXPECT_THAT(refusal("# nothing\n"), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("- a\n"), HasSubstr("the file is no map"));
  EXPECT_THAT(refusal("a: 1\n---\nb: 2\n"), HasSubstr("a second YAML document"));
  EXPECT_THAT(refusal("a: &x [*x]\n"), HasSubstr("an alias that contains itself"));
  EXPECT_THAT(refusal("? [1]\n: 2\n"), HasSubstr("a key must be plain text"));
}

TEST(aliases, that_multiply_are_refused_quickly) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const auto last = "*a" + std::to_string(i - 1);
    const auto name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [" + last;
    for (int n = 0; n < 9; ++n) bomb += ", " + last;
    bomb += "]\n";
  }
  EXPECT_THAT(refusal(bomb), HasSubstr("too deep or too large"));
}

TEST(cross_checks, more_shards_than_chunks) {
  const std::string tables = "    tables: {t: {shape: [100000]}}\n";
  EXPECT_EQ(
      refusal(with_job(tables), {"cluster.shards=3"}),
      "--set cluster.shards=3: cluster.shards: 3 is too large: the declared tables make 2 "
      "chunks of 256KiB, and a shard without one has nothing to do; allowed: at most 2, or a "
      "smaller cluster.chunk_bytes");
  EXPECT_EQ(refusal(with_job(tables), {"cluster.shards=2"}), "accepted");
  EXPECT_EQ(refusal(with_job(""), {"cluster.shards=3"}), "accepted")
      << "workers make the tables";
}

TEST(cross_checks, too_many_chunks) {
  EXPECT_THAT(
      refusal(with_job("    tables: {t: {shape: [1099511627776]}}\n"),
              {"cluster.chunk_bytes=64"}),
      AllOf(StartsWith("--set cluster.chunk_bytes=64: "), HasSubstr("at most 1048576 chunks")));
}

}  // namespace
}  // namespace tidegate::launch
