// What the objects are for each cluster. tests/engines/kubernetes_test.py has them read by
// others and carried out.
#include "launch/kubernetes/manifests.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

policies::cluster_spec cluster() {
  policies::cluster_spec spec;
  spec.name = "mine";
  spec.engine = policies::engine_kind::kubernetes;
  spec.replicas = 1;
  spec.jobs.emplace_back().name = "job";
  return spec;
}

kubernetes_options options() {
  return {.image = "image:1",
          .name_space = "",
          .claim = "",
          .key_secret = "",
          .key = "secret",
          .run = "1a2b"};
}

std::string refusal(const policies::cluster_spec& spec, std::uint32_t nodes,
                    const kubernetes_options& with) {
  const auto text = manifests(spec, nodes, with);
  return text ? "" : text.error().message();
}

TEST(manifests, have_a_launcher_and_doors) {
  const auto text = manifests(cluster(), 3, options());
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, AllOf(HasSubstr("kind: JobSet"), HasSubstr("completions: 2"),
                           HasSubstr("\"--key-file\", \"/run/tidegate/key/key\""),
                           HasSubstr("mine-hosts-0-1.mine"), HasSubstr("key: secret")))
      << *text;
  EXPECT_THAT(*text, HasSubstr("start_timeout: 10m")) << "images have to be loaded";
  EXPECT_THAT(*text, Not(HasSubstr("persistentVolumeClaim")));
}

TEST(manifests, of_one_host_have_no_doors) {
  const auto text = manifests(cluster(), 1, options());
  ASSERT_TRUE(text);
  EXPECT_THAT(*text,
              AllOf(Not(HasSubstr("[tidegate, door")), Not(HasSubstr("PodDisruptionBudget"))));
}

TEST(manifests, let_as_many_hosts_go_as_there_are_replicas) {
  auto spec = cluster();
  EXPECT_THAT(*manifests(spec, 5, options()), HasSubstr("minAvailable: 4"));
  spec.replicas = 0;
  EXPECT_THAT(*manifests(spec, 5, options()), Not(HasSubstr("minAvailable")));
}

TEST(manifests, keep_a_time_limit_that_the_file_has) {
  auto spec = cluster();
  spec.start_timeout_ms = 45'000;
  EXPECT_THAT(*manifests(spec, 2, options()), HasSubstr("\"--wait\", \"45s\""));
}

TEST(manifests, take_a_claim_and_a_secret) {
  auto with = options();
  with.claim = "runs";
  with.key_secret = "own";
  const auto text = manifests(cluster(), 2, with);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, AllOf(HasSubstr("claimName: runs"), HasSubstr("secretName: own"),
                           HasSubstr("launch --resume '/tidegate/mine-1a2b'"),
                           Not(HasSubstr("kind: Secret"))));
}

TEST(manifests, have_the_keys_of_a_store_come_from_a_secret_of_the_user) {
  auto spec = cluster();
  EXPECT_THAT(*manifests(spec, 2, options()), Not(HasSubstr("envFrom")));
  spec.jobs[0].checkpoint.emplace().path = "s3://bucket/runs";
  const auto text = manifests(spec, 2, options());
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_THAT(*text, HasSubstr("name: " + spec.name + "-store"));
  EXPECT_EQ(text->find("envFrom"), text->rfind("envFrom")) << "the launcher alone";
}

TEST(manifests, say_what_is_wrong) {
  auto spec = cluster();
  EXPECT_THAT(refusal(spec, 0, options()), HasSubstr("--nodes N"));
  spec.jobs[0].checkpoint.emplace();
  EXPECT_THAT(refusal(spec, 2, options()), HasSubstr("jobs.job.checkpoint"));
  auto none = options();
  none.image.clear();
  EXPECT_THAT(refusal(cluster(), 2, none), HasSubstr("--image NAME"));
  for (const auto* name : {"Mine", "1st", "under_score", "end-", ""}) {
    spec = cluster();
    spec.name = name;
    EXPECT_THAT(refusal(spec, 2, options()), HasSubstr("cannot name pods")) << name;
  }
}

}  // namespace
}  // namespace tidegate::launch
