// Lets UCX learn of a broken TCP connection where it receives, not where it sends.
//
// UCX (1.13, and its main branch of 2026) aborts the process if a message that waited for a
// connection to be made meets a connection that is broken already (wireup_ep.c, "pending_count
// == 0"): a peer that dies or disconnects within microseconds of its acknowledgment is enough.
// The same loss read from the socket is an ordinary error. So libucs, which sends for all of
// UCX, is given a `send` and a `sendmsg` of ours (import_slots.hpp): they answer "try again" to
// the first refusal of a stream, and UCX, which reads every stream that it writes to, finds the
// end of the stream at its next look. A second refusal is told as it is, because UCX repeats
// some sends until they are taken or refused.
#pragma once

#include <cstddef>
#include <sys/socket.h>
#include <sys/types.h>

namespace tidegate::runtime {

// The C library's, but for the answer about a broken stream while a stream_refusals lives.
ssize_t send_for_ucx(int fd, const void* data, std::size_t bytes, int flags);
ssize_t sendmsg_for_ucx(int fd, const msghdr* message, int flags);

// While one lives, UCX's sends of its thread on broken streams are answered as described, also
// those of callbacks. Threads: it lives and dies on one thread. Others are untouched.
class stream_refusals {
 public:
  // Has UCX call the functions above from now on. Call it before UCX connects anything; any
  // thread, once is enough. Returns false if UCX calls its sends in a way that is not known.
  static bool take_over_sends();

  stream_refusals();
  ~stream_refusals();
  stream_refusals(const stream_refusals&) = delete;
  stream_refusals& operator=(const stream_refusals&) = delete;
};

}  // namespace tidegate::runtime
