#include "launch/agents/file_server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "launch/agents/frame_fields.hpp"

namespace tidegate::launch {

namespace {

constexpr std::size_t piece_bytes_max = std::size_t{256} << 10U;
constexpr std::size_t kept_bytes_max = std::size_t{1} << 20U;
constexpr int pieces_per_turn = 16;

}  // namespace

std::string request_text(const file_request& request) {
  return json{{"host", request.host}, {"file", request.file}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

std::optional<file_request> parse_file_request(std::string_view text) {
  const auto all = json::parse(text, nullptr, false);
  try {
    return file_request{.host = text_of(all, "host"),
                        .file = number_of<std::size_t>(all, "file")};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool file_server::take(const file_request& request, frame_connection& over) {
  if (request.file >= files_.size()) return false;
  file_ = &files_[request.file];
  sent_ = 0;
  open_ = runtime::unique_fd(::open(file_->path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!open_) fail(std::strerror(errno), over);
  if (file_->bytes == 0) open_.reset();
  return true;
}

bool file_server::send_some(frame_connection& over) {
  int pieces = 0;
  for (; open_ && pieces < pieces_per_turn && over.kept_bytes() < kept_bytes_max; ++pieces) {
    piece_.resize(1 + std::min<std::uint64_t>(piece_bytes_max, file_->bytes - sent_));
    piece_[0] = file_data;
    const auto got = ::read(open_.get(), piece_.data() + 1, piece_.size() - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail(got < 0 ? std::strerror(errno) : "it is shorter than it was as the run began", over);
      break;
    }
    sent_ += static_cast<std::uint64_t>(got);
    over.send(std::string_view(piece_).substr(0, 1 + static_cast<std::size_t>(got)));
    if (sent_ == file_->bytes) open_.reset();
  }
  return pieces > 0;
}

void file_server::fail(const std::string& why, frame_connection& over) {
  open_.reset();
  over.send(file_error + file_->path + ", on the launcher's host: " + why);
}

}  // namespace tidegate::launch
