// What this machine's processor can do, as far as a program's rounding may depend on it. Any
// thread.
#pragma once

#include <string>

namespace tidegate::runtime {

// Returns the architecture and the vector instructions that compilers and libraries choose by,
// in a fixed order: "x86_64 avx avx2 fma".
std::string vector_instructions();

}  // namespace tidegate::runtime
