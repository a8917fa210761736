// Fuzz target: bytes from the network as what a worker and a shard say of rows: batches,
// requests, both with their ids coded, answers, leases.
//
// What is taken is as it says, within its memory, and becomes the same again when it is
// written. Built with libFuzzer, ASan and UBSan (CMakeLists.txt).
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/batches/coded_rows.hpp"
#include "runtime/batches/id_code.hpp"
#include "runtime/batches/kept_lists.hpp"
#include "runtime/batches/row_batch.hpp"
#include "runtime/batches/row_changes.hpp"
#include "runtime/batches/row_request.hpp"
#include "runtime/parts/row_lease.hpp"

namespace {

using namespace tidegate::runtime;
using bytes = std::span<const std::byte>;

constexpr std::uint64_t key = 7;

// Memory of whole lines, of which ASan sees the end.
class line_memory {
 public:
  explicit line_memory(std::size_t size)
      : memory_(
            static_cast<std::byte*>(std::aligned_alloc(
                row_batch_alignment, std::max(aligned_as_batch(size), row_batch_alignment))),
            &std::free),
        size_(size) {
    std::memset(memory_.get(), 0, std::max(aligned_as_batch(size), row_batch_alignment));
  }
  std::span<std::byte> all() const { return {memory_.get(), size_}; }

 private:
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
  std::size_t size_;
};

// Puts a number where it is likely to be believed.
template <class T>
void put(std::span<std::byte> into, std::size_t at, T number) {
  if (at + sizeof number <= into.size()) std::memcpy(into.data() + at, &number, sizeof number);
}

// Ids ascend, and their code says the same.
void check_ids(std::span<const std::uint64_t> ids) {
  TIDEGATE_ASSERT(ids_ascend(ids), "ids that were taken ascend");
  const line_memory code(id_code_bytes_max(ids.size()));
  const auto written = encode_ids(ids, code.all());
  std::vector<std::uint64_t> again(ids.size());
  TIDEGATE_ASSERT(decode_ids(code.all().first(written), again).ok(), "what was written reads");
  TIDEGATE_ASSERT(std::equal(ids.begin(), ids.end(), again.begin()), "as the same ids");
}

void try_batch(bytes memory, std::uint32_t dim, kept_lists& kept) {
  const auto batch = read_row_batch(memory, dim);
  if (!batch) return;
  TIDEGATE_ASSERT(batch->values.size() == batch->ids.size() * dim, "values of each row");
  const auto checked = checked_row_batch(memory, dim);
  TIDEGATE_ASSERT(
      checked.ids.data() == batch->ids.data() && checked.values.data() == batch->values.data(),
      "it is read as before");
  check_ids(batch->ids);

  // Its coded form, in turn, is taken as the same. Nobody sends one without rows.
  if (batch->ids.empty()) return;
  const auto rows = static_cast<std::uint32_t>(batch->ids.size());
  const auto own = row_batch_bytes(rows, dim);
  const auto front = batch_front_bytes_max(rows) - row_batch_values(rows);
  const line_memory room(front + own);
  const auto plain = room.all().last(own);
  const auto into = begin_row_batch(plain, rows, dim);
  std::copy(batch->ids.begin(), batch->ids.end(), into.ids.begin());
  std::memcpy(into.values.data(), batch->values.data(), batch->values.size_bytes());
  id_coder coder;
  const auto forms = coder.encode_batch(room.all(), plain, key);
  const auto coded = read_coded_batch(forms.with_list, dim);
  TIDEGATE_ASSERT(coded.has_value(), "what was coded reads");
  const auto ids = coder.decode(coded->list.code, coded->list.ids);
  TIDEGATE_ASSERT(
      ids && std::equal(ids->begin(), ids->end(), batch->ids.begin(), batch->ids.end()),
      "as the same ids");
  TIDEGATE_ASSERT(std::memcmp(forms.with_list.data() + coded->values_at, batch->values.data(),
                              batch->values.size_bytes()) == 0,
                  "and the same values");

  // The list is found under its name when it has come once.
  const auto named = read_coded_batch(forms.with_name, dim);
  TIDEGATE_ASSERT(named && named->list.is_named(), "a list that is named reads");
  kept.keep(coded->list.name, rows, coded->list.code);
  const auto found = kept.find(named->list.name, rows);
  TIDEGATE_ASSERT(found && std::equal(found->begin(), found->end(), coded->list.code.begin(),
                                      coded->list.code.end()),
                  "what is kept is as it was");
}

void try_request(bytes memory) {
  const auto request = read_row_request(memory);
  if (!request) return;
  const auto checked = checked_row_request(memory);
  TIDEGATE_ASSERT(checked.kind == request->kind && checked.ids.size() == request->ids.size() &&
                      checked.rows_max == request->rows_max,
                  "it is read as before");
  check_ids(request->ids);
  if (request->kind == row_request_kind::call)
    TIDEGATE_ASSERT(request->call.size() == call_payload_bytes, "a whole call");
}

// The ids of a list that has come coded; kept and found under its name.
void try_list(const coded_list& list, kept_lists& kept) {
  const auto code = list.is_named() ? kept.find(list.name, list.ids) : std::optional(list.code);
  if (!code) return;
  id_coder coder;
  const auto ids = coder.decode(*code, list.ids);
  if (!ids) {
    TIDEGATE_ASSERT(!list.is_named(), "what is kept was read before");
    return;
  }
  check_ids(*ids);
  if (!list.is_named()) kept.keep(list.name, list.ids, list.code);
}

void try_coded(bytes memory, std::uint32_t dim, kept_lists& kept) {
  if (const auto batch = read_coded_batch(memory, dim)) {
    TIDEGATE_ASSERT(batch->values_at + row_values_bytes(batch->list.ids, dim) <= memory.size(),
                    "values within the memory");
    try_list(batch->list, kept);
  }
  const auto request = read_coded_request(memory);
  if (!request) return;
  try_list(request->list, kept);
  id_coder coder;
  const auto ids = coder.decode(request->list.code, request->list.ids);
  if (!ids || request->list.is_named()) return;
  const line_memory plain(gather_request_bytes(ids->size()));
  write_request(request->header, *ids, plain.all());
  const auto read = read_row_request(plain.all());
  TIDEGATE_ASSERT(read && read->ids.size() == ids->size(), "what was decoded is a request");
}

void try_changes(bytes memory, std::uint32_t rows, std::uint32_t dim) {
  const auto changes = read_row_changes(memory, rows, dim);
  if (!changes) return;
  std::size_t changed = 0;
  for (std::uint32_t row = 0; row < rows; ++row) changed += changes->has(row) ? 1 : 0;
  TIDEGATE_ASSERT(changes->values.size() == changed * dim, "a value for each bit");
}

void try_lease(bytes memory) {
  const auto lease = decode_lease(memory);
  if (!lease) return;
  std::byte again[row_lease_bytes];
  encode(*lease, again);
  const auto read = decode_lease(again);
  TIDEGATE_ASSERT(read && *read == *lease, "a lease becomes the same again");
}

// Writes a header that suits the rest, as far as these numbers do.
void make_plausible(std::span<std::byte> into, std::uint8_t form, std::uint32_t rows,
                    std::uint32_t dim) {
  switch (form) {
    case 0:  // a batch
      put(into, 0, rows);
      put(into, 4, dim);
      break;
    case 1:  // a request
      put(into, 0, 1U + rows % 4);
      put(into, 4, rows);
      break;
    case 2:  // a coded batch
      put(into, 0, rows);
      put(into, 4, dim);
      put(into, 8, static_cast<std::uint32_t>(id_width_words(rows) + 2) * 8);
      put(into, 12, 0U);
      break;
    default:  // changes
      put(into, 0, rows);
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t choices = 3;
  if (size < choices) return 0;
  const auto form = static_cast<std::uint8_t>(data[0] % 8);
  const std::uint32_t dim = 1U + data[1] % 20U;
  const std::uint32_t rows = data[2] % 40U;
  const line_memory memory(size - choices);
  if (size > choices) std::memcpy(memory.all().data(), data + choices, size - choices);
  if (form < 4) make_plausible(memory.all(), form, rows, dim);
  kept_lists kept(4096);
  try_batch(memory.all(), dim, kept);
  try_request(memory.all());
  try_coded(memory.all(), dim, kept);
  try_changes(memory.all(), rows, dim);
  try_lease(memory.all());
  return 0;
}
