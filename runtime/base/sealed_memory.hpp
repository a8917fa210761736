// Memory that a launcher shares with a process that it starts: an anonymous file (memfd) of
// fixed size, which nobody can cut short. It begins with the token of the run, by which the
// process knows it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

struct sealed_memory {
  unique_fd fd;        // to be inherited
  void* at = nullptr;  // mapped; the caller unmaps it
};

// All zeros but for the token. `name`: of the file, for /proc. `subject`: what an error calls
// it, "a page for heartbeats". Errors: io_error (no more descriptors, or memory).
expected<sealed_memory> make_sealed(const char* name, const std::string& subject,
                                    std::size_t bytes, std::uint64_t token);
// Maps what is behind a descriptor that the launcher has left open, which stays open. Errors:
// not_found (no such descriptor, or something else).
expected<void*> map_sealed(int fd, const std::string& subject, std::size_t bytes,
                           std::uint64_t token);

}  // namespace tidegate::runtime
