#include "actors/store/called_rows.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::actors {

std::shared_ptr<called_rows> called_rows::copy(const runtime::row_part& part,
                                               std::uint32_t version_buffer,
                                               const runtime::row_request& request,
                                               const runtime::buffer& into) {
  TIDEGATE_ASSERT(request.kind == runtime::row_request_kind::call &&
                      into.size() == runtime::call_answer_bytes,
                  "a call, and a place for its results");
  runtime::call_wire call;
  std::copy(request.call.begin(), request.call.end(), call.begin());
  const std::shared_ptr<called_rows> called(new called_rows(call, part.dim(), into));
  called->ids_ = part.ids_of(version_buffer);
  called->values_.resize(called->ids_.size() * part.dim());
  runtime::row_memory_owner owner;
  if (part.table().engine() != nullptr) owner.object = called;
  part.gather(version_buffer, called->ids_, called->values_, owner);
  return called;
}

void called_rows::finish(const runtime::function_library& functions) {
  runtime::function_results results{.outcome = runtime::errc::corrupt};
  if (const auto call = runtime::decode_call(call_))
    results = functions.run(call->view(), {.parameters = values_, .ids = ids_, .dim = dim_});
  runtime::call_wire wire;
  runtime::encode(results, wire);
  const auto to = into_.bytes();
  std::fill(std::copy(wire.begin(), wire.end(), to.begin()), to.end(), std::byte{0});
  ids_ = {};
  values_ = {};
}

}  // namespace tidegate::actors
