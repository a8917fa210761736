#include "launch/page/page_documents.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "launch/page/assets.hpp"
#include "tests/launch/page/metrics_lines.hpp"
#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct page_documents_test : testing::Test {
  http_answer ask(const std::string& path, std::map<std::string, std::string> parameters = {}) {
    const auto at = std::find_if(documents.begin(), documents.end(),
                                 [&](const http_document& of) { return of.path == path; });
    EXPECT_NE(at, documents.end()) << path;
    return at->read({.accept = "", .parameters = std::move(parameters)});
  }
  json ask_json(const std::string& path, std::map<std::string, std::string> parameters = {}) {
    return json::parse(*ask(path, std::move(parameters)).text);
  }

  tests::temporary_folder folder;
  std::string run_dir = folder.path("");
  std::vector<http_document> documents =
      page_documents({.run_dir = [this] { return run_dir; }});
};

TEST_F(page_documents_test, everybody_may_have_the_page_and_nothing_of_the_run) {
  for (const auto& document : documents) {
    const bool is_part_of_page = document.path == "/" || document.path.starts_with("/page/");
    EXPECT_EQ(document.is_public, is_part_of_page) << document.path;
    EXPECT_NE(document.is_of_user, document.is_public) << document.path;
    if (!is_part_of_page) continue;
    const auto answer = ask(document.path);
    EXPECT_THAT(answer.content_policy, HasSubstr("default-src 'none'; script-src 'self'"));
    EXPECT_EQ(answer.tag.size(), 64U);
    EXPECT_FALSE(answer.text->empty());
  }
  EXPECT_THAT(*ask("/").text, HasSubstr("<title>Tidegate</title>"));
  EXPECT_EQ(ask("/page/main.js").type, "text/javascript; charset=utf-8");
  EXPECT_THAT(*ask("/page/chart.min.js").text, HasSubstr("Chart.js v3"));
}

// What the policy of the page would stop, and links to elsewhere.
TEST_F(page_documents_test, the_page_has_nothing_of_elsewhere_and_nothing_in_line) {
  const std::regex elsewhere("(src|href)=\"(https?:)?//|@import|url\\(");
  const std::regex in_line(
      "<script>|<style| on[a-z]+=\"|style=\"|innerHTML|outerHTML|insertAdjacent|eval\\(");
  for (const auto& asset : page_assets()) {
    if (asset.path == "/page/chart.min.js") continue;
    const std::string text(asset.text);
    EXPECT_FALSE(std::regex_search(text, elsewhere)) << asset.path;
    EXPECT_FALSE(std::regex_search(text, in_line)) << asset.path;
  }
}

TEST_F(page_documents_test, says_so_as_long_as_the_run_has_no_folder) {
  run_dir.clear();
  for (const auto* path : {"/history.json", "/events.json", "/log.json", "/reasons.json"})
    EXPECT_EQ(ask(path).status, 503) << path;
  run_dir = folder.path("");
  EXPECT_EQ(ask("/history.json").status, 200);
}

TEST_F(page_documents_test, a_folder_without_files_has_empty_answers) {
  EXPECT_EQ(ask_json("/history.json"),
            json({{"whole", true}, {"problem", ""}, {"jobs", json::array()}}));
  EXPECT_TRUE(ask_json("/events.json")["events"].empty());
  EXPECT_TRUE(ask_json("/log.json")["processes"].empty());
  EXPECT_TRUE(ask_json("/reasons.json")["jobs"].empty());
}

TEST_F(page_documents_test, answers_with_the_first_job_or_the_one_that_is_named) {
  std::ofstream(folder.path("metrics.jsonl")) << metrics_lines::line(0, 2, "a") << "\n"
                                              << metrics_lines::line(0, 2, "b") << "\n";
  EXPECT_EQ(ask_json("/history.json")["series"]["job"], "a");
  EXPECT_EQ(ask_json("/history.json", {{"job", "b"}})["series"]["job"], "b");
  const auto nothing = ask_json("/history.json", {{"job", "c"}});
  EXPECT_FALSE(nothing.contains("series"));
  EXPECT_EQ(nothing["jobs"], json({"a", "b"}));
}

TEST_F(page_documents_test, refuses_what_it_cannot_answer) {
  EXPECT_EQ(ask("/events.json", {{"since", "-1"}}).status, 400);
  EXPECT_EQ(ask("/events.json", {{"since", "x"}}).status, 400);
  EXPECT_EQ(ask("/reasons.json", {{"lines", "0"}}).status, 400);
  EXPECT_EQ(ask("/reasons.json", {{"lines", "999999"}}).status, 400);
  EXPECT_EQ(ask("/log.json", {{"process", "../launcher.json"}}).status, 404);
  std::filesystem::create_directory(folder.path("events.jsonl"));
  const auto failed = ask("/events.json");
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(*failed.text, HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace tidegate::launch
