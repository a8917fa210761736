// Lets UCX learn of a broken TCP connection where it receives, not where it sends.
//
// UCX (1.13, and its main branch of 2026) aborts the process if a message that waited for a
// connection to be made meets a connection that is broken already (wireup_ep.c, "pending_count
// == 0"): a peer that dies or disconnects within microseconds of its acknowledgment is enough.
// The same loss read from the socket is an ordinary error. So this process has a `send` and a
// `sendmsg` of its own, which UCX calls through the dynamic linker: they answer "try again" to
// the first refusal of a stream, and UCX, which reads every stream that it writes to, finds the
// end of the stream at its next look. A second refusal is told as it is, because UCX repeats
// some sends until they are taken or refused.
//
// Both are weak: a program's own take their place. They are found only if Tidegate is linked
// into the executable; in a library that is loaded later UCX keeps the C library's, and with
// them the abort.
#pragma once

namespace tidegate::runtime {

// While one lives, sends of its thread on broken streams are answered as described, also those
// of callbacks. Threads: it lives and dies on one thread. Others are untouched.
class stream_refusals {
 public:
  stream_refusals();
  ~stream_refusals();
  stream_refusals(const stream_refusals&) = delete;
  stream_refusals& operator=(const stream_refusals&) = delete;
};

}  // namespace tidegate::runtime
