#include "runtime/base/processor.hpp"

#include <sys/utsname.h>

namespace tidegate::runtime {

std::string vector_instructions() {
  utsname machine{};
  std::string all = ::uname(&machine) == 0 ? machine.machine : "unknown";
#if defined(__x86_64__)
  const auto add = [&all](bool has, const char* name) {
    if (has) all += std::string(" ") + name;
  };
  add(__builtin_cpu_supports("avx"), "avx");
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512bw"), "avx512bw");
  add(__builtin_cpu_supports("avx512dq"), "avx512dq");
  add(__builtin_cpu_supports("avx512vl"), "avx512vl");
  add(__builtin_cpu_supports("avx512vnni"), "avx512vnni");
  add(__builtin_cpu_supports("avx512bf16"), "avx512bf16");
#endif
  return all;
}

}  // namespace tidegate::runtime
