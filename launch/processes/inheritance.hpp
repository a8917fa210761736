// What a process has inherited from whoever started it, and what would break it.
#pragma once

namespace tidegate::launch {

// Opens /dev/null where standard input, output or error is closed: a file that is opened later
// would take the number, and get what is printed. Lets children that end be waited for, also
// where the parent ignores SIGCHLD: then the kernel waits for them, and nobody hears how they
// ended. To be called first thing in main().
void put_inheritance_right();

}  // namespace tidegate::launch
