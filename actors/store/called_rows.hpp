// What a function makes of all rows of a part, in one version: it is shown their ids and
// values, which are copied when the call is answered, as the next step changes them where they
// are. One thread, the home's. Takes memory for all of these rows until the results are there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actors/seam/late_answer.hpp"
#include "runtime/functions/call_wire.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/parts/row_part.hpp"

namespace tidegate::actors {

class called_rows final : public late_answer {
 public:
  // Copies what the call is about. `request`: a call; `into` takes its results, in
  // runtime::call_answer_bytes, and has a share in the memory.
  static std::shared_ptr<called_rows> copy(const runtime::row_part& part,
                                           std::uint32_t version_buffer,
                                           const runtime::row_request& request,
                                           const runtime::buffer& into);

  void finish(const runtime::function_library& functions) override;

 private:
  called_rows(runtime::call_wire call, std::uint64_t dim, runtime::buffer into)
      : call_(call), dim_(dim), into_(std::move(into)) {}

  runtime::call_wire call_;
  std::uint64_t dim_;
  std::vector<std::uint64_t> ids_;
  std::vector<float> values_;
  runtime::buffer into_;
};

}  // namespace tidegate::actors
