#include "launch/processes/ready_pipe.hpp"

#include <cstddef>
#include <fcntl.h>
#include <unistd.h>

#include "launch/text/scalars.hpp"

namespace tidegate::launch {

runtime::expected<runtime::unique_fd> ready_pipe::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return runtime::fail(runtime::errc::io_error, "no more file descriptors");
  read_end_ = runtime::unique_fd(ends[0]);
  text_.clear();
  runtime::unique_fd write_end(ends[1]);
  ::fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
  return write_end;
}

void ready_pipe::close() {
  read_end_.reset();
  text_.clear();
}

void ready_pipe::add_to(std::vector<pollfd>& fds) const {
  if (read_end_) fds.push_back({read_end_.get(), POLLIN, 0});
}

std::optional<ready_pipe::word> ready_pipe::read() {
  if (!read_end_) return {};
  char text[32];
  const auto n = ::read(read_end_.get(), text, sizeof text);
  if (n < 0) return {};
  text_.append(text, static_cast<std::size_t>(n));
  // Without a line before the end the coordinator is about to end as well, which says more.
  if (n != 0 && !text_.ends_with('\n')) return {};
  read_end_.reset();
  if (!text_.ends_with('\n')) return {};
  text_.pop_back();
  const auto port = parse_unsigned(text_);
  if (port && *port != 0 && *port <= 65535)
    return word{.port = static_cast<std::uint16_t>(*port), .unusable = {}};
  return word{.port = 0, .unusable = "the coordinator gave no port: '" + text_ + "'"};
}

}  // namespace tidegate::launch
