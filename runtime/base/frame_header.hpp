// What a frame of the data plane says: who, which push or pull, what came of it. Its wire form
// is runtime/transport/frame.hpp's; cores speak of frames in these words.
//
// Between processes of one host that have mapped each other's memory (attach) payload does not
// travel: a `doorbell` says that a table's gradient lies there, and is answered for runs
// of chunks. `chunk` then is the index of the first among the table's chunks on that shard. The
// two processes of a shard's group do likewise with the sums of steps (lend, steps).
#pragma once

#include <cstdint>

namespace tidegate::runtime {

// Of the wire forms of frames and bundles. Processes of other versions do not understand each
// other; see policies/protocol/protocol_version.hpp.
inline constexpr std::uint8_t frame_version = 17;

enum class frame_kind : std::uint8_t {
  // worker -> shard: the gradient of a chunk, as payload.
  push = 1,
  // shard -> worker: a push or skip is applied once (code 0), or why it is not. Answers
  // `finished`, too.
  push_ack = 2,
  // worker -> shard: no push of this chunk in this clock. Acknowledged like a push.
  skip = 3,
  // worker -> shard: asks for a chunk at this clock.
  pull = 4,
  // shard -> worker: the parameters of a chunk as payload, with its version and `min_clock`
  // (code 0), or why not. With a flag it also acknowledges the push of the clock before.
  pull_reply = 5,
  // worker -> shard: no more pushes from this worker. Acknowledged.
  finished = 6,
  // worker -> shard: where this worker's gradients of a table lie; the payload is a shm_handle.
  attach = 7,
  // shard -> worker: where the parameters of that table lie (a shm_handle), or why not.
  attach_ack = 8,
  // worker -> shard: push, skip or pull of a table in place, as its flags say: of `count` of
  // its chunks on that shard, from the index `chunk` on, or of all with a count of 0.
  doorbell = 9,
  // shard -> worker: a push or skip of `count` chunks is applied, or why it is not.
  doorbell_ack = 10,
  // shard -> worker: `count` chunks may be read in `version_buffer`, or why not.
  doorbell_reply = 11,
  // primary -> replica: the sum of a step of a chunk as payload, or that nobody pushed (skip).
  step = 12,
  // primary -> replica: a chunk as it is; the payload is a chunk_seed
  // (policies/shard/chunk_seed.hpp).
  seed = 13,
  // primary -> replica: this worker has finished.
  farewell = 14,
  // replica -> primary: the replica has it, too, or why not. With a count: a run of steps.
  followed = 15,
  // primary -> replica: where the sums of a table lie; the payload is a shm_handle.
  lend = 16,
  // replica -> primary: these sums are read in place from now on, or why not.
  lent = 17,
  // primary -> replica: `count` steps whose sums lie in `version_buffer`.
  steps = 18,
  // either way: frames may have been lost, because the sender's connection broke and this is
  // the first frame of its next one, or because a payload was cut off. The receiver sends again
  // what the sender has not answered. `request` numbers the connection attempt; with 0 no
  // answer is wanted.
  resend = 19,
  // either way: the answer to `resend`. The new connection carries frames.
  resent = 20,
  // shard -> worker or aggregator: `squares` of a chunk's reduced gradient, whose step waits
  // for the norm of the whole gradient of `clock`.
  // To the shard: asks what it knows of that norm.
  norm_part = 21,
  // either way: `squares` of the whole gradient of `clock`, over all chunks of the job.
  norm = 22,
  // worker -> shard: where this worker's gradients of a table lie on a device, one place for
  // each
  // half; the payload is device_places (runtime/transport/device_places.hpp). Bit b of
  // `version`:
  // this worker knows where version buffer b of the parameters lies there.
  device_attach = 23,
  // shard -> worker: where version buffers lie there that the worker does not know
  // (device_places), or why it cannot say. With a flag it reads the gradients there, too.
  device_attach_ack = 24,
  // worker -> shard: asks for a function of a chunk at this clock, whose name and arguments are
  // the payload (runtime/functions/call_wire.hpp). Otherwise like a pull; a refusal comes as a
  // pull_reply.
  call = 25,
  // shard -> worker: its results, as the payload, with the version and `min_clock` of the
  // chunk. Acknowledges like a pull_reply.
  call_reply = 26,
};
inline constexpr std::uint8_t frame_kind_last = 26;
// The payload of a call and of its reply.
inline constexpr std::uint64_t call_payload_bytes = 328;

// The chunk of frames that speak of a whole job (finished and its acknowledgement, norm), and
// the table of a doorbell for every table that its sender has attached.
inline constexpr std::uint32_t whole_job = 0xffff'ffff;

// Bits of `flags`.
inline constexpr std::uint16_t frame_flag_final = 1;  // pull, doorbell: of everything, see
                                                      // session::pull_final
inline constexpr std::uint16_t frame_flag_push =
    2;  // doorbell: the gradient of `clock` is there
inline constexpr std::uint16_t frame_flag_skip = 4;  // doorbell: without a push for `clock`
// doorbell: pull; with a push or skip, of the clock after it. push: likewise.
inline constexpr std::uint16_t frame_flag_pull = 8;
// pull_reply, doorbell_reply, call_reply: the push of the clock before is applied, too.
inline constexpr std::uint16_t frame_flag_applied = 16;
// resend, resent: to a shard or aggregator, or to the process before it in a chain; without the
// flag, from there. Between the processes of a chain `job` is 0 and `epoch` the view.
inline constexpr std::uint16_t frame_flag_up = 32;
// norm_part: told because a push or pull has come again, which may have been in vain.
inline constexpr std::uint16_t frame_flag_again = 64;
// step, steps: the step has waited for the norm, with `squares`. seed: the last step of the job
// that is known to have waited, that of `clock`, did so.
inline constexpr std::uint16_t frame_flag_squares = 128;
// doorbell: the gradient lies on a device, as a device_attach has said. doorbell_reply: the
// chunks are to be read in the version buffer's place on a device. device_attach_ack: gradients
// are read there.
inline constexpr std::uint16_t frame_flag_device = 256;
// push, call: of rows whose ids are coded (runtime/batches/coded_rows.hpp).
inline constexpr std::uint16_t frame_flag_coded = 512;
// Version buffers from here on are read on the host alone.
inline constexpr std::uint32_t device_buffers_max = 64;

struct frame_header {
  frame_kind kind = frame_kind::push;
  std::uint16_t flags = 0;
  std::uint64_t job = 0;    // token
  std::uint64_t epoch = 0;  // policies/protocol/frame_epoch.hpp
  std::uint32_t incarnation = 0;
  std::uint32_t worker = 0;  // rank
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint32_t code = 0;  // refusal (policies/protocol/protocol.hpp), 0 = fine
  std::uint64_t clock = 0;
  // Replies: of the chunk. Step, steps, seed: that it makes. The answer to finished: payload
  // bytes that the shard copied for this worker, which should be none. Doorbell with a pull:
  // bit b is set if version buffer b may be named on a device.
  std::uint64_t version = 0;
  std::uint64_t min_clock = 0;  // replies: every worker's clocks below this are in
  std::uint64_t payload_bytes = 0;
  // Number of a pull of this worker, rising; comes back in its reply. Step, steps: over how
  // many workers a mean of that clock is.
  std::uint64_t request = 0;
  std::uint32_t count = 0;  // doorbell and its answers, steps, followed: chunks
  // Which copy (memory/arena.hpp). doorbell_reply: of the parameters, to be read. doorbell with
  // a push: of the gradients. Steps: of the sums.
  std::uint16_t version_buffer = 0;
  std::uint16_t shard = 0;  // index of the shard that answers
  // push, doorbell with a push, step, steps: what the learning rate of the step is multiplied
  // by; finite, at least 0.
  float rate = 1.0F;
  // norm_part, norm: the sum of the squares of the elements of a reduced gradient. Step, steps,
  // seed: that of the whole gradient with which the version was made. At least 0; infinity
  // where an element is not finite.
  double squares = 0.0;

  friend bool operator==(const frame_header&, const frame_header&) = default;
};

}  // namespace tidegate::runtime
