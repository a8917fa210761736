#include "launch/config/write_yaml.hpp"

#include <gmock/gmock.h>

#include "tests/launch/config/samples.hpp"

namespace tidegate::launch {
namespace {

void expect_same(const policies::job_spec& a, const policies::job_spec& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.workers, b.workers);
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(a.env, b.env);
  EXPECT_EQ(a.consistency, b.consistency);
  EXPECT_EQ(a.optimizer, b.optimizer);
  EXPECT_EQ(a.reduce, b.reduce);
  EXPECT_EQ(a.not_finite, b.not_finite);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.state_bytes, b.state_bytes);
  EXPECT_EQ(a.state_mirror_every, b.state_mirror_every);
  EXPECT_EQ(a.tables, b.tables);
  EXPECT_EQ(a.hosts, b.hosts);
  EXPECT_EQ(a.aggregators, b.aggregators);
  EXPECT_EQ(a.checkpoint, b.checkpoint);
}

// Writes, reads back, compares; the second text is the first.
void expect_round_trip(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  const auto a = parse_cluster(yaml, "c.yaml", sets);
  ASSERT_TRUE(a) << a.error().message();
  const auto text = write_yaml(*a);
  const auto b = parse_cluster(text, "as_run.yaml", {});
  ASSERT_TRUE(b) << b.error().message() << "\n" << text;
  EXPECT_EQ(a->name, b->name);
  EXPECT_EQ(a->hosts, b->hosts);
  EXPECT_EQ(a->coordinator_host, b->coordinator_host);
  EXPECT_EQ(a->shards, b->shards);
  EXPECT_EQ(a->device, b->device);
  EXPECT_EQ(a->device_memory, b->device_memory);
  EXPECT_EQ(a->rows_dir, b->rows_dir);
  EXPECT_EQ(a->shard_hosts, b->shard_hosts);
  EXPECT_EQ(a->transport, b->transport);
  EXPECT_EQ(a->chunk_bytes, b->chunk_bytes);
  EXPECT_EQ(a->control_host, b->control_host);
  EXPECT_EQ(a->control_port, b->control_port);
  EXPECT_EQ(a->start_timeout_ms, b->start_timeout_ms);
  EXPECT_EQ(a->supervision.heartbeat_timeout_ms, b->supervision.heartbeat_timeout_ms);
  EXPECT_EQ(a->monitor, b->monitor);
  EXPECT_EQ(a->faults, b->faults);
  ASSERT_EQ(a->jobs.size(), b->jobs.size());
  for (std::size_t i = 0; i < a->jobs.size(); ++i) expect_same(a->jobs[i], b->jobs[i]);
  EXPECT_EQ(write_yaml(*b), text);
}

TEST(write_yaml, reads_back_as_the_identical_spec) {
  expect_round_trip(fashion_yaml());
  expect_round_trip(fashion_yaml(), {"jobs.mlp.consistency.policy=bsp"});
  for (const auto* rows : {"dim: 4", "dim: 4, parts: 7, capacity: 50, init: {constant: 2}",
                           "dim: 4, admit: {count: 3}", "dim: 4, evict: {unseen: 9 clocks}",
                           "dim: 4, admit: {count: 2, candidates: 5}, evict: {unseen: 9 "
                           "clocks, rows: 80, by: lfu}",
                           "dim: 4, optimizer: {name: group_adagrad, l21: 0.5}",
                           "dim: 4, parts: 8, memory: 4GiB", "dim: 4, memory: 5000001"})
    expect_round_trip(fashion_yaml(),
                      {"jobs.mlp.optimizer={name: adagrad}",
                       std::string("jobs.mlp.tables.user={rows: dynamic, ") + rows + "}"});
  expect_round_trip(fashion_yaml(), {"jobs.mlp.optimizer={name: adam, epsilon: 1e-7}"});
  expect_round_trip(fashion_yaml(), {"jobs.mlp.optimizer={name: nesterov, momentum: 0.7}"});
  expect_round_trip(fashion_yaml(), {"jobs.mlp.optimizer={name: adagrad, epsilon: 1e-3}"});
  expect_round_trip(fashion_yaml(),
                    {"jobs.mlp.optimizer={name: adamw, beta2: 0.7, weight_decay: 0.3}"});
  expect_round_trip(fashion_yaml(),
                    {"jobs.mlp.optimizer={name: momentum, clip_value: 0.25, schedule: "
                     "{kind: step, clocks: 30, factor: 0.3, warmup: 7}}"});
  expect_round_trip(fashion_yaml(), {"jobs.mlp.optimizer.schedule={kind: cosine, clocks: 9}"});
  expect_round_trip(fashion_yaml(),
                    {"jobs.mlp.optimizer.schedule={kind: constant, warmup: 4294967295}"});
  expect_round_trip(fashion_yaml(), {"jobs.mlp.optimizer={name: adam, lazy: true}"});
  expect_round_trip(fashion_yaml(), {"jobs.mlp.optimizer={name: adam, reduce: or}"});
  expect_round_trip(fashion_yaml(), {"jobs.mlp.optimizer={name: plugin:lion, states: 1, beta1: "
                                     "0.7, reduce: plugin:strongest, clip_value: 2}"});
  expect_round_trip(fashion_yaml(),
                    {"jobs.mlp.optimizer={name: plugin:lion, reduce: plugin:strongest}",
                     "jobs.mlp.tables.user={rows: dynamic, dim: 4, optimizer: {name: sgd}}"});
  expect_round_trip(with_job(""));
  expect_round_trip(with_job("    state: {max: 64MiB}\n"));
  expect_round_trip(with_job("    state: {max: 0}\n"));
  expect_round_trip(with_job("    state: {mirror_every: 10}\n"));
  expect_round_trip(with_job("    checkpoint: {every: 5 clocks, keep: 2}\n"));
  expect_round_trip(with_job("    checkpoint: {every: 1m, path: '/a \"folder\"/b'}\n"));
  expect_round_trip(with_job("") + "  k: {command: [b], seed: 18446744073709551615}\n",
                    {"cluster.chunk_bytes=192", "cluster.start_timeout=1500ms"});
}

TEST(write_yaml, keeps_the_time_out_of_heartbeats) {
  for (const auto& [set, ms] :
       {std::pair{"2s", 2000U}, {"off", 0U}, {"0s", 0U}, {"100ms", 100U}}) {
    const auto text = std::string("supervision.heartbeat.timeout=") + set;
    const auto spec = parse_cluster(with_job(""), "c.yaml", {text});
    ASSERT_TRUE(spec) << spec.error().message();
    EXPECT_EQ(spec->supervision.heartbeat_timeout_ms, ms);
    expect_round_trip(with_job(""), {text});
  }
  for (const auto* set : {"5", "99ms", "61m", "never", "[]"})
    EXPECT_THAT(parse_cluster(with_job(""), "c.yaml",
                              {std::string("supervision.heartbeat.timeout=") + set})
                    .error()
                    .message(),
                testing::HasSubstr("supervision.heartbeat.timeout"))
        << set;
}

TEST(write_yaml, keeps_faults) {
  const auto with = [](const std::string& faults) {
    return with_job("    workers: 2\n") + "faults:\n" + faults;
  };
  expect_round_trip(with("  seed: 9\n  link: {drop: 0.001, delay: 0.25, delay_up_to: 3s}\n"));
  expect_round_trip(with("  random: {}\n"));
  expect_round_trip(
      with("  slow: {worker-j-0: {factor: 2.5, from: 3, until: 9}, shard-0: "
           "{link_delay: 5ms, disk_delay: 3s}, worker-j-1: {}}\n"));
  expect_round_trip(with(R"(  seed: 3
  link: {duplicate: 1}
  random: {every: 1s, roles: [shard, worker], actions: [kill, "stop:20ms"], count: 7, for: 2m}
  at:
    clock 100: [kill shard-0, "fill:1s"]
    1500ms: [stop:300ms worker-j-1, kill coordinator-0]
)"));
  const auto spec = parse_cluster(
      with("  at:\n    clock 5: [kill shard-0]\n    2s: stop:10ms worker-j-1\n"), "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->faults.timed,
            (std::vector<policies::timed_fault>{
                {5, 0, "shard-0", {}},
                {std::nullopt, 2000, "worker-j-1", {policies::chaos_act::stop, 10}}}));
  EXPECT_FALSE(spec->faults.random);
}

TEST(write_yaml, a_fault_that_makes_no_sense_is_told_with_its_place) {
  const std::pair<const char*, const char*> wrong[] = {
      {"link: {drop: 1.5}", "faults.link.drop"},
      {"link: {delay_up_to: 1m}", "faults.link.delay_up_to"},
      {"link: {lose: 1}", "unknown key 'lose' in faults.link"},
      {"random: {every: 2s..1s}", "faults.random.every"},
      {"random: {roles: [king]}", "faults.random.roles: 'king' is not valid"},
      {"random: {actions: [stop]}", "faults.random.actions: 'stop' is not valid"},
      {"random: {actions: []}", "faults.random.actions"},
      {"random: {count: 0}", "faults.random.count"},
      {"random: {actions: [partition:1s]}",
       "faults.random.actions: 'partition:1s' is not valid"},
      {"random: {actions: [fill]}", "faults.random.actions: 'fill' is not valid"},
      {"slow: {worker-j-7: {}}", "there is no process worker-j-7; did you mean worker-j-0?"},
      {"slow: {shard-0: {factor: 2}}",
       "faults.slow.shard-0.factor: is of a process that is no worker"},
      {"slow: {worker-j-0: {disk_delay: 1s}}",
       "faults.slow.worker-j-0.disk_delay: is of a process that writes no checkpoints"},
      {"slow: {coordinator-0: {link_delay: 5ms}}", "faults.slow.coordinator-0.link_delay"},
      {"slow: {worker-j-0: {factor: 0.5}}", "faults.slow.worker-j-0.factor"},
      {"slow: {worker-j-0: {from: 4, until: 4}}", "faults.slow.worker-j-0.until"},
      {"slow: {worker-j-0: 3}", "faults.slow.worker-j-0 is a plain value"},
      {"at: {5s: partition there}", "there is no host with an address there"},
      {"at: {5s: fill:1s shard-0}", "faults.at.5s"},
      {"at: {soon: kill shard-0}", "faults.at.soon: 'soon: kill shard-0' is not valid"},
      {"at: {5s: kill}", "faults.at.5s: '5s: kill' is not valid"},
      {"at: {5s: hug shard-0}", "faults.at.5s"},
      {"at: {clock 5: kill shrad-0}", "there is no process shrad-0; did you mean shard-0?"},
      {"at: {clock 5: {kill: shard-0}}", "faults.at.clock 5"}};
  for (const auto& [faults, told] : wrong) {
    const auto spec = parse_cluster(with_job("") + "faults: {" + faults + "}\n", "c.yaml", {});
    ASSERT_FALSE(spec) << faults;
    EXPECT_THAT(spec.error().message(), testing::HasSubstr(told));
    EXPECT_THAT(spec.error().message(), testing::HasSubstr("c.yaml:5:"));
  }
}

TEST(write_yaml, keeps_where_the_monitor_listens) {
  expect_round_trip(with_job("") + "monitor: {}\n");
  expect_round_trip(with_job("") + "monitor: {address: '[::1]:0'}\n");
  expect_round_trip(with_job("") + "monitor: {address: 10.0.0.1:80, key_file: /etc/key}\n");
  const auto spec = parse_cluster(with_job("") + "monitor: {}\n", "c.yaml", {});
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->monitor, (policies::monitor_spec{"127.0.0.1", 9464, ""}));
  EXPECT_FALSE(parse_cluster(with_job(""), "c.yaml", {})->monitor);
  for (const auto* wrong :
       {"{address: 9464}", "{address: 127.0.0.1}", "{address: here:80}",
        "{address: 127.0.0.1:65536}", "{address: '::1:80'}", "{address: '::0'}",
        "{address: 0.0.0.0:80}", "{key_file: key}", "{adress: 127.0.0.1:1}", "[]"})
    EXPECT_FALSE(parse_cluster(with_job("") + "monitor: " + wrong + "\n", "c.yaml", {}))
        << wrong;
}

TEST(write_yaml, keeps_where_metrics_go) {
  const auto read = [](const std::string& otlp) {
    return parse_cluster_file(with_job("") + "otlp: " + otlp + "\n", "c.yaml", {});
  };
  for (const auto* otlp :
       {"{url: 'http://here'}",
        "{url: 'https://[::1]:4318/a?b=c', every: 90s, timeout: 700ms, headers_file: /h, "
        "certificates: '/c d'}"}) {
    const auto file = read(otlp);
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->otlp);
    const auto text = write_yaml(file->spec, file->otlp);
    EXPECT_EQ(parse_cluster_file(text, "c.yaml", {})->otlp, file->otlp) << text;
    EXPECT_EQ(write_yaml(file->spec).find("otlp"), std::string::npos);
  }
  EXPECT_EQ(
      read("{url: 'http://here:1'}")->otlp,
      (otlp_spec{.url = "http://here:1/v1/metrics", .every_ms = 10'000, .timeout_ms = 5'000}));
  EXPECT_EQ(read("{url: 'http://here:1/'}")->otlp->url, "http://here:1/");
  EXPECT_FALSE(parse_cluster_file(with_job(""), "c.yaml", {})->otlp);
  for (const auto* wrong :
       {"{}", "[]", "{url: here}", "{url: 'ftp://here'}", "{url: 'http://'}",
        "{url: 'http://me:secret@here'}", "{url: 'http://here:x'}", "{url: 'http://::1/'}",
        "{url: 'http://here?a'}", "{url: 'http://here/#a'}", "{url: 'http://he re/'}",
        "{url: 'http://here', every: 999ms}", "{url: 'http://here', timeout: 99ms}",
        "{url: 'http://here', headers_file: h}", "{url: 'http://here', certificates: c}",
        "{url: 'http://here', evry: 1s}"})
    EXPECT_FALSE(read(wrong)) << wrong;
}

TEST(write_yaml, keeps_where_shards_are) {
  expect_round_trip(fashion_yaml(),
                    {"cluster.shards.device=cuda:1", "cluster.shards.device_memory=64MiB"});
}

TEST(write_yaml, keeps_aggregators) {
  expect_round_trip(with_job("    aggregators: none\n"));
  expect_round_trip(with_job("    aggregators: per_host\n"));
  expect_round_trip(with_job("    aggregators: {fan_in: 16}\n"));
  expect_round_trip(with_job("    aggregators: none\n"),
                    {"jobs.j.aggregators={fan_in: 4}", "jobs.j.workers=9"});
}

TEST(write_yaml, keeps_hosts) {
  expect_round_trip(hosts_yaml());
  expect_round_trip(
      "cluster: {name: c, shards: 1, hosts: {a: {address: [x1, 'fd00::1']}, b: {address: "
      "x2}}}\n"
      "jobs: {j: {workers: 1, command: [w]}}\n");
  expect_round_trip(hosts_yaml(), {"cluster.hosts.a.rack=r1", "jobs.j.aggregators=per_rack"});
  expect_round_trip(hosts_yaml(), {"cluster.coordinator_host=c", "cluster.transport=rdma"});
}

TEST(write_yaml, keeps_floats_to_the_last_bit) {
  expect_round_trip(
      with_job("    optimizer: {learning_rate: 0.1}\n    tables:\n"
               "      t: {shape: [], init: {uniform: 0.333333343}}\n"
               "      u: {shape: [7], init: {constant: -1.17549435e-38}}\n"));
}

TEST(write_yaml, keeps_text_that_yaml_would_read_otherwise) {
  expect_round_trip(
      with_job("    env: {A: 'null', B: '', C: \"a\\n\\t\\\"b\\\\\", D: '{x: 1}', "
               "E: 'ünï'}\n    tables: {'a: b#c': {shape: [1]}, '1': {shape: [2]}}\n"));
}

TEST(write_yaml, keeps_where_rows_lie) {
  expect_round_trip(fashion_yaml(), {"cluster.rows_dir=/a disk/\"rows\""});
}

TEST(write_yaml, keeps_what_a_table_takes_over_from_its_job) {
  expect_round_trip(
      with_job("    optimizer: {name: momentum, momentum: 0.5}\n    tables:\n"
               "      t: {shape: [1], optimizer: {name: sgd}}\n"));
}

// What a reader does not find it takes from the job.
TEST(write_yaml, keeps_what_a_table_or_a_segment_has_otherwise_than_its_job) {
  expect_round_trip(with_job(
      "    optimizer: {name: adagrad, lazy: true, schedule: {kind: step, clocks: 10}}\n"
      "    tables:\n"
      "      t: {shape: [1], optimizer: {lazy: false, schedule: {kind: constant}}}\n"
      "      rows:\n"
      "        rows: dynamic\n"
      "        segments:\n"
      "          - {columns: 1, optimizer: {lazy: false, schedule: {kind: constant}}}\n"
      "          - {columns: 2, optimizer: ftrl}\n"
      "          - {columns: 3}\n"));
}

TEST(write_yaml, writes_out_every_default) {
  const auto text = write_yaml(*parse_cluster(with_job(""), "c.yaml", {}));
  EXPECT_THAT(text, testing::HasSubstr("  chunk_bytes: 256KiB\n"));
  EXPECT_THAT(text, testing::HasSubstr("    consistency: {policy: bsp}\n"));
  EXPECT_THAT(
      text, testing::HasSubstr("    optimizer: {name: sgd, learning_rate: 0.01, clip_value: 0, "
                               "schedule: {kind: constant, warmup: 0}, lazy: false}\n"));
  EXPECT_THAT(text, testing::HasSubstr("    gradients: {not_finite: refuse, clip_norm: 0}\n"));
}

}  // namespace
}  // namespace tidegate::launch
