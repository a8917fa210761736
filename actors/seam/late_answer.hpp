// The answer to a request of rows, and one that is worked out when its frame goes: from what
// memory that works by itself (work_progress.hpp) has written by then. One thread, the home's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/functions/function_library.hpp"

namespace tidegate::actors {

class late_answer {
 public:
  virtual ~late_answer() = default;
  // Writes the bytes of the answer. To be called once, when the work that had begun with the
  // answer has ended.
  virtual void finish(const runtime::function_library& functions) = 0;
};

struct row_answer {
  std::span<const std::byte> bytes;
  std::shared_ptr<late_answer> late = nullptr;  // of a function's results
};

}  // namespace tidegate::actors
