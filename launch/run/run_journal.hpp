// Everything a run writes for people and programs: its folder and standard output. One thread.
// A write that fails is told once; the run goes on, and its exit code says so at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "launch/run/run_folder.hpp"
#include "launch/text/display.hpp"
#include "policies/model/cluster_status.hpp"

namespace tidegate::launch {

class run_journal {
 public:
  run_journal(run_folder folder, bool is_terminal);

  run_folder& folder() noexcept { return folder_; }
  display& screen() noexcept { return display_; }

  void event(std::string_view subject, std::string_view detail,
             const policies::event_fields& about = {});
  void event(const policies::cluster_event& seen);
  // Returns the error, which is told already, for whoever can write it later.
  runtime::status write(const std::string& name, const std::string& text, mode_t mode = 0666);
  // To stderr, and above the live lines where stdout is a terminal.
  void complain(const std::string& text);

  bool write_failed() const noexcept { return write_failed_; }

 private:
  void check(const runtime::status& result);

  run_folder folder_;
  bool is_terminal_;
  output_writer writer_;
  display display_;
  bool write_failed_ = false;
};

}  // namespace tidegate::launch
