// The driver's calls for virtual memory, for fake_runtime.cpp alone. Memory of the emulated
// device has its addresses from the start: those that are reserved are those of the memory that
// was created or imported before. A descriptor is a file with the name of its emulated window.
#pragma once

namespace tidegate::tests {

// Returns the function of that name, or null.
void* driver_call(const char* name);
// Gives back all that is out.
void clear_driver();

// Whether work may touch memory there: it is mapped, with that access. True of all other
// memory.
bool may_read(const void* at);
bool may_write(const void* at);

// The GPU is current on this thread.
bool is_current();

}  // namespace tidegate::tests
