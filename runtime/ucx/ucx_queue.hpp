// Looks at the queues in which UCX 1.13 receives over System V shared memory. Any thread.
#pragma once

namespace tidegate::runtime {

// Whether in a queue of this process a place is taken and not written, with the queue's default
// sizes; of others nothing is known. For a moment that is so whenever somebody sends.
bool has_blocked_queue();

}  // namespace tidegate::runtime
