// The section `security` of cluster files.
#include <string>

#include <gmock/gmock.h>

#include "launch/config/read_spec.hpp"
#include "launch/config/write_yaml.hpp"

namespace tidegate::launch {
namespace {

using testing::HasSubstr;

const std::string plain = "cluster: {name: x}\njobs: {j: {command: a}}\n";

TEST(security, encrypts_where_the_file_says_so) {
  const auto spec = parse_cluster(plain + "security: {encrypt: true}\n", "c.yaml", {});
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_TRUE(spec->security.encrypt);
  EXPECT_TRUE(parse_cluster(write_yaml(*spec), "again", {})->security.encrypt);
  EXPECT_FALSE(parse_cluster(plain, "c.yaml", {})->security.encrypt);
}

TEST(security, refuses_what_it_does_not_know_and_what_ucx_cannot_do) {
  const auto refusal = [](const std::string& security, const std::string& transport) {
    const auto spec = parse_cluster(plain + "security: {" + security + "}\n", "c.yaml",
                                    {"cluster.transport=" + transport});
    return spec ? "" : spec.error().message();
  };
  EXPECT_THAT(refusal("encrypt: maybe", "auto"),
              HasSubstr("'maybe' is not allowed; allowed: true, false"));
  EXPECT_THAT(refusal("encript: true", "auto"), HasSubstr("did you mean 'encrypt'?"));
  for (const std::string transport : {"ucx", "rdma"})
    EXPECT_THAT(refusal("encrypt: true", transport),
                HasSubstr("cluster.transport: is " + transport +
                          ", and UCX encrypts nothing (security.encrypt)"));
}

}  // namespace
}  // namespace tidegate::launch
