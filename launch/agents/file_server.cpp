#include "launch/agents/file_server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

#include "launch/agents/frame_fields.hpp"

namespace tidegate::launch {

namespace {

constexpr std::size_t piece_bytes_max = std::size_t{256} << 10U;
constexpr std::size_t kept_bytes_max = std::size_t{1} << 20U;
constexpr int pieces_per_turn = 16;

}  // namespace

std::string request_text(const file_request& request) {
  json all{{"host", request.host}};
  if (request.file)
    all["file"] = *request.file;
  else
    all["compares"] = true;
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<file_request> parse_file_request(std::string_view text) {
  const auto all = json::parse(text, nullptr, false);
  try {
    if (all.contains("compares"))
      return file_request{.host = text_of(all, "host"), .file = std::nullopt};
    return file_request{.host = text_of(all, "host"),
                        .file = number_of<std::size_t>(all, "file")};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool file_server::take(std::size_t file, frame_connection& over) {
  if (file >= files_.size()) return false;
  file_ = &files_[file];
  sent_ = 0;
  open_.reset();
  if (file_->bytes == 0) return true;
  auto opened = open_staged(*file_);
  if (opened)
    open_ = std::move(*opened);
  else
    fail(opened.error().message(), over);
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
      fail(file_->path + ": " +
               (got < 0 ? std::strerror(errno) : "it is shorter than it was as the run began"),
           over);
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
  over.send(file_error + ("on the launcher's host: " + why));
}

}  // namespace tidegate::launch
