#include "launch/manual/man_page.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const manual_edition edition{.date = "2026-01-31", .version = "1.2.3"};

TEST(man_page, of_a_command_has_its_sections) {
  const std::vector<command_page> pages{
      {.name = "",
       .help = "tidegate - a server\n\n  tidegate ls [FOLDER]\n      list runs\n",
       .options = {}},
      {.name = "ls",
       .help = "tidegate ls [FOLDER] [--json]\n\nLists runs.\n.so it does.\n\n"
               "  --json             as JSON\n\nExit codes: 0 done.\n",
       .options = {}}};
  EXPECT_EQ(
      command_manual(pages, pages[1], edition),
      ".TH \"TIDEGATE-LS\" \"1\" \"2026-01-31\" \"tidegate 1.2.3\" \"Tidegate\"\n"
      ".SH NAME\ntidegate\\-ls \\- list runs\n"
      ".SH SYNOPSIS\n.nf\n\\fBtidegate\\fR ls [\\fIFOLDER\\fR] [\\fB\\-\\-json\\fR]\n.fi\n"
      ".SH DESCRIPTION\nLists runs.\n\\&.so it does.\n"
      ".SH OPTIONS\n.TP\n\\fB\\-\\-json\\fR\nas JSON\n"
      ".SH EXIT STATUS\nExit codes: 0 done.\n"
      ".SH SEE ALSO\n\\fBtidegate\\fR(1),\n\\fBtidegate.yaml\\fR(5)\n");
  const auto whole = command_manual(pages, pages[0], edition);
  EXPECT_THAT(whole, HasSubstr(".SH NAME\ntidegate \\- a server\n"));
  EXPECT_THAT(whole, HasSubstr("\\fBtidegate\\-ls\\fR(1),\n"));
  EXPECT_EQ(man_name(pages[0]), "tidegate");
}

TEST(man_page, of_keys_has_them_all) {
  const auto text = keys_manual(edition);
  EXPECT_THAT(text, StartsWith(".TH \"TIDEGATE.YAML\" \"5\" "));
  for (const auto& key : known_keys())
    EXPECT_THAT(text, HasSubstr("\\fB" + man_text(key.path) + "\\fR\n"));
}

TEST(man_page, text_is_no_order) {
  EXPECT_EQ(man_text("a\\-b 'c' `d` ~^"), "a\\e\\-b \\(aqc\\(aq \\(gad\\(ga \\(ti\\(ha");
}

}  // namespace
}  // namespace tidegate::launch
