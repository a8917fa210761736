// How the kernel treats the thread that calls (sched(7)).
#pragma once

namespace tidegate::runtime {

// A thread that gives way does not interrupt another one when it wakes, but waits until a
// processor is free or its turn comes; it has its share of them as before. For work that
// somebody waits for later than for other work. Does nothing where the kernel refuses.
void give_way(bool yes) noexcept;

}  // namespace tidegate::runtime
