// The launcher's side of a connection over which the agent of a host asks for files that it
// lacks, before it says hello (stage_here.hpp is the other):
//
//   agent      {"host": NAME, "compares": true}, now and then while it reads what it has
//   agent      {"host": NAME, "file": NUMBER}, of a file that has bytes
//   launcher   pieces of the file, each a text that begins with "d", as many as it has bytes;
//              or "e" and why there are no more
//
// One thread. What waits to be sent is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/agents/frame_connection.hpp"
#include "launch/agents/staged_files.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

struct file_request {
  std::string host;                 // whose agent asks
  std::optional<std::size_t> file;  // of those that the agent was told of; nothing: it compares
};
inline constexpr char file_data = 'd';
inline constexpr char file_error = 'e';

std::string request_text(const file_request& request);
// Returns nothing if it is something else.
std::optional<file_request> parse_file_request(std::string_view text);

class file_server {
 public:
  // `files` outlives it.
  explicit file_server(const std::vector<staged_file>& files) : files_(files) {}

  // Begins to send this file in place of the one before. Returns false if no such file is
  // listed.
  bool take(std::size_t file, frame_connection& over);
  // Sends what there is room for, up to a share of a turn. Returns true if it has sent
  // something.
  bool send_some(frame_connection& over);
  // Returns true if there is more to send.
  bool is_sending() const noexcept { return static_cast<bool>(open_); }

 private:
  void fail(const std::string& why, frame_connection& over);

  const std::vector<staged_file>& files_;
  const staged_file* file_ = nullptr;
  runtime::unique_fd open_;
  std::uint64_t sent_ = 0;
  std::string piece_;
};

}  // namespace tidegate::launch
