#include "launch/run/last_line.hpp"

#include <fstream>

#include <gmock/gmock.h>

#include "tests/support/temporary.hpp"

namespace tidegate::launch {
namespace {

TEST(last_line, is_the_last_that_is_not_blank) {
  EXPECT_EQ(last_line_of(""), "");
  EXPECT_EQ(last_line_of(" \n\t\n\r\n"), "");
  EXPECT_EQ(last_line_of("a\nb\n"), "b");
  EXPECT_EQ(last_line_of("a\nno end"), "no end");
  EXPECT_EQ(last_line_of("Traceback:\n  ValueError: bad  \n\n  \n"), "ValueError: bad");
}

TEST(last_line, of_a_line_that_was_drawn_again_is_the_last_drawn) {
  EXPECT_EQ(last_line_of("10%\r50%\r70%\r"), "70%");
  EXPECT_EQ(last_line_of("a\r\n"), "a");
}

TEST(last_line, obeys_no_control_characters) {
  EXPECT_EQ(last_line_of("x\n\x1b[2Jboo\x07!\n"), "[2Jboo !");
}

TEST(last_line, is_cut_between_letters) {
  const auto line =
      last_line_of(std::string(155, 'a') + "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC");
  EXPECT_EQ(line, std::string(155, 'a') + "...");
  EXPECT_EQ(last_line_of(std::string(160, 'b')), std::string(160, 'b'));
  EXPECT_EQ(last_line_of(std::string(100'000, 'c')), std::string(157, 'c') + "...");
}

TEST(last_line, of_a_file_is_of_the_process_that_began_there) {
  const tests::temporary_folder folder;
  const auto path = folder.path("a.log");
  EXPECT_EQ(last_line_in(path, 0), "") << "there is no file";
  std::ofstream(path) << "of the one before\n";
  EXPECT_EQ(last_line_in(path, 0), "of the one before");
  EXPECT_EQ(last_line_in(path, 18), "");
  EXPECT_EQ(last_line_in(path, 1'000), "") << "the file has been cut";
  std::ofstream(path, std::ios::app) << std::string(50'000, '\n') << "far away\n";
  EXPECT_EQ(last_line_in(path, 18), "far away");
  EXPECT_EQ(last_line_in(folder.path(""), 0), "") << "a folder";
}

}  // namespace
}  // namespace tidegate::launch
