// `tidegate export` on run folders with real files: what it writes is what Python reads, and
// what it cannot use it says.
#include "launch/cli/export_model.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "policies/checkpoint/catalog.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/storage/posix_storage.hpp"
#include "tests/launch/simulate/checkpoint_job.hpp"
#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

using runtime::errc;
using testing::HasSubstr;
using testing::IsEmpty;

struct export_model_test : testing::Test {
  void write(const std::string& name, std::uint64_t clock, std::uint32_t shards) {
    auto disk = runtime::posix_storage::make(policies::checkpoint_folder(run_dir, name));
    ASSERT_TRUE(disk);
    policies::checkpoint_catalog catalog(*disk);
    std::vector<std::string> findings;
    ASSERT_TRUE(catalog.newest(findings));
    auto manifest = job.manifest(clock);
    manifest.id = catalog.begin(1);
    const auto cut = job.cut(chance, std::min(shards, job.chunks()), clock);
    for (std::uint32_t i = 0; i < cut.size(); ++i) {
      auto writer = policies::write_shard_file({.job = "job", .id = manifest.id, .shard = i},
                                               cut[i].chunks);
      const auto file = write_all(std::move(*writer), *disk);
      ASSERT_TRUE(file);
      manifest.parts.push_back({i, *file, job.runs(cut[i])});
    }
    ASSERT_TRUE(write_all(*policies::write_manifest(manifest), *disk));
  }
  runtime::status run(const std::string& name = {}) {
    out.str("");
    problems.str("");
    return export_model({.run_dir = run_dir, .job = name, .output = model}, out, problems);
  }
  // By Python.
  std::vector<nlohmann::json> tensors() const { return tensors_of(model); }
  static std::vector<nlohmann::json> tensors_of(const std::string& file) {
    std::vector<nlohmann::json> read;
    FILE* python =
        ::popen((TIDEGATE_PYTHON " -B " TIDEGATE_MODEL_DIGESTS " " + file).c_str(), "r");
    char line[4096];
    while (std::fgets(line, sizeof line, python) != nullptr)
      read.push_back(nlohmann::json::parse(line));
    EXPECT_EQ(::pclose(python), 0);
    return read;
  }
  // What they should be, from one shard's file.
  std::vector<nlohmann::json> expected(std::uint64_t clock) {
    std::vector<nlohmann::json> entries;
    std::map<std::string, runtime::sha256> hashes;
    const auto cut = job.cut(chance, 1, clock);
    for (const auto& chunk : cut[0].chunks)
      hashes[chunk.about.table].update(std::as_bytes(chunk.arrays[0]));
    const auto tables = job.manifest(clock).tables;
    for (const auto& table : tables)
      entries.push_back({{"name", table.name},
                         {"dtype", "F32"},
                         {"shape", table.shape},
                         {"sha256", hashes[table.name].finish()}});
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a["name"] < b["name"]; });
    return entries;
  }

  const tests::temporary_folder folder;
  const std::string run_dir = folder.path("run");
  const std::string model = folder.path("model.safetensors");
  sim::draws chance{3};
  sim::checkpoint_job job{chance};
  std::ostringstream out, problems;
};

TEST_F(export_model_test, python_reads_what_was_written) {
  for (std::uint32_t shards = 1; shards <= 3; ++shards) {
    write("mlp", 100 * shards, shards);
    ASSERT_TRUE(run()) << run().message();
    EXPECT_EQ(tensors(), expected(100 * shards));
    EXPECT_THAT(out.str(), HasSubstr("clock " + std::to_string(100 * shards)));
    EXPECT_THAT(problems.str(), IsEmpty());
  }
}

TEST_F(export_model_test, python_reads_a_shards_own_file) {
  write("mlp", 10, 1);
  std::size_t arrays = 0;
  const auto cut = job.cut(chance, 1, 10);
  for (const auto& chunk : cut[0].chunks) arrays += chunk_arrays(chunk.about);
  const auto files = policies::checkpoint_folder(run_dir, "mlp") + "/";
  EXPECT_EQ(tensors_of(files + policies::shard_file_name({1, 1}, 0)).size(), arrays);
}

TEST_F(export_model_test, a_checkpoint_that_is_named) {
  write("mlp", 10, 2);
  write("mlp", 20, 2);
  const auto export_of = [&](const std::string& id) {
    out.str("");
    problems.str("");
    return export_model({.run_dir = run_dir, .job = {}, .output = model, .checkpoint = id}, out,
                        problems);
  };
  const auto older = export_of("e0001-00000001");
  ASSERT_TRUE(older.ok()) << older.message();
  EXPECT_EQ(tensors(), expected(10));
  EXPECT_THAT(out.str(), HasSubstr("job job, checkpoint e0001-00000001, clock 10, "));
  EXPECT_THAT(out.str(), HasSubstr("SHA-256 of the file "));
  const auto none = export_of("e0001-00000003");
  EXPECT_EQ(none.code(), errc::not_found);
  EXPECT_THAT(none.message(),
              HasSubstr("has no checkpoint e0001-00000003; there are e0001-00000002, "
                        "e0001-00000001"));
  for (const auto* word : {"2", "e1-2", "newest", "e0001-00000001/x"}) {
    const auto wrong = export_of(word);
    EXPECT_EQ(wrong.code(), errc::invalid_argument) << word;
    EXPECT_THAT(wrong.message(), HasSubstr("--list"));
  }
  // Another that is whole does not take the place of a damaged one.
  std::filesystem::resize_file(
      policies::checkpoint_folder(run_dir, "mlp") + "/" + policies::shard_file_name({1, 1}, 0),
      7);
  std::filesystem::remove(model);
  const auto damaged = export_of("e0001-00000001");
  EXPECT_EQ(damaged.code(), errc::corrupt);
  EXPECT_THAT(damaged.message(), HasSubstr("checkpoint e0001-00000001 of job 'mlp' cannot"));
  EXPECT_FALSE(std::filesystem::exists(model));
}

TEST_F(export_model_test, the_one_before_a_damaged_one_is_used_and_that_is_said) {
  write("mlp", 10, 2);
  write("mlp", 20, 2);
  const auto file =
      policies::checkpoint_folder(run_dir, "mlp") + "/e0001-00000002-s0000.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  ASSERT_TRUE(run("mlp"));
  EXPECT_EQ(tensors(), expected(10));
  EXPECT_THAT(problems.str(), HasSubstr("e0001-00000002 cannot be used"));
  EXPECT_THAT(problems.str(), HasSubstr("bytes, not"));
  ASSERT_TRUE(list_checkpoints({run_dir, "", ""}, out));
  EXPECT_THAT(out.str(), testing::ContainsRegex("e0001-00000001 +10 .* whole"));
  EXPECT_THAT(out.str(), testing::ContainsRegex("e0001-00000002 +- .* corrupt"));
}

TEST_F(export_model_test, reads_a_folder_that_jobs_name_for_their_checkpoints) {
  write("mlp", 1, 1);
  const auto shared = run_dir + "/checkpoints";
  const auto run_there = [&] {
    return export_model({.run_dir = shared, .job = {}, .output = model}, out, problems);
  };
  EXPECT_EQ(run_there().code(), errc::not_found) << "no run has left a record there";
  EXPECT_THAT(run_there().message(), HasSubstr("no folder of jobs.*.checkpoint.path"));
  std::filesystem::create_directory(shared + "/mlp/run");
  std::filesystem::create_directory(shared + "/other");
  EXPECT_TRUE(run_there().ok()) << run_there().message();
}

TEST_F(export_model_test, says_which_job_is_wanted) {
  EXPECT_EQ(run().code(), errc::not_found);
  EXPECT_THAT(run().message(), HasSubstr("has no checkpoints"));
  write("mlp", 1, 1);
  write("cnn", 1, 1);
  EXPECT_EQ(run().code(), errc::invalid_argument);
  EXPECT_THAT(run().message(), HasSubstr("one of cnn, mlp"));
  EXPECT_THAT(run("mpl").message(), HasSubstr("it has of cnn, mlp"));
  EXPECT_TRUE(run("cnn"));
}

TEST_F(export_model_test, what_cannot_be_written_leaves_nothing) {
  write("mlp", 1, 1);
  EXPECT_EQ(export_model({run_dir, "", folder.path("no/model")}, out, problems).code(),
            errc::not_found);
  EXPECT_EQ(export_model({run_dir, "", folder.path("a b")}, out, problems).code(),
            errc::invalid_argument);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("")), {}), 1);
  ASSERT_TRUE(run());
  ASSERT_TRUE(run()) << "it is replaced";
}

}  // namespace
}  // namespace tidegate::launch
