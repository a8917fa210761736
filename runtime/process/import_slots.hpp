// Calls of one shared library to another, taken over in this process.
//
// A shared library calls what it imports through a slot of its own, which the dynamic linker
// fills (System V ABI, global offset table). Writing to the slot changes who is called,
// wherever the library was loaded from and whoever loaded it: names that a program exports
// reach only what was loaded with the program.
#pragma once

#include <cstddef>

namespace tidegate::runtime {

// Has the library that contains the address `inside` call `function` instead of whatever it
// imports as `name`. Returns how many slots were changed: 0 if nothing loaded contains the
// address, if the library imports no such name, or on processors other than x86-64 and AArch64.
// Call it before other threads make that call for the first time.
std::size_t redirect_import(const void* inside, const char* name, void* function);

}  // namespace tidegate::runtime
