// Rows that a worker asks for ahead of their use: values of parts as they were at a mark. A
// later pull of the same rows of a part asks for what has changed since, and the others are
// taken from here. A part that read its rows in place the last time is not asked.
//
// ask() is called by the session's thread while no pull is under way, ahead or not; the rest by
// the reactor's. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "actors/seam/sent_payload.hpp"
#include "actors/store/asked_rows.hpp"
#include "runtime/base/status.hpp"
#include "runtime/batches/batch_writer.hpp"
#include "runtime/batches/row_changes.hpp"
#include "runtime/batches/row_request.hpp"
#include "runtime/parts/cache_lines.hpp"

namespace tidegate::actors {

class rows_ahead {
 public:
  // `dim`: values of a row.
  rows_ahead(std::uint32_t parts, std::uint32_t dim) : dim_(dim), parts_(parts) {}

  // Forgets all rows, and writes requests for those of `sorted` that are in `asked`, ascending,
  // with room for their answers.
  void ask(const runtime::batch_writer& sorted, std::span<const std::uint32_t> asked);
  // The request for a part, which is sent now, perhaps again: no answer to one before arrives
  // any more. `is_plain`: its ids are sent as they are; if not, list() has been called.
  sent_payload request(std::uint32_t part, bool is_plain, bool names_list);
  policies::sent_list list(std::uint32_t part, std::uint64_t key) {
    return parts_[part].request.list(key);
  }
  // Where so many bytes of its answer arrive; empty if it cannot be as long.
  std::span<std::byte> room(std::uint32_t part, std::uint64_t bytes);

  // Returns the mark of the rows that are here of a part, if they are those with these ids.
  std::optional<runtime::row_mark> mark_of(std::uint32_t part,
                                           std::span<const std::uint64_t> ids);
  // Takes in what has changed of them since, and returns the values of all, until ask().
  std::span<const float> update(std::uint32_t part, const runtime::row_changes& changes);

 private:
  enum class answer_state : std::uint8_t { none, arrives, is_here };
  struct part_rows {
    asked_rows request;
    runtime::cache_lines memory;
    std::span<std::byte> answer;
    std::uint32_t rows = 0;  // asked for
    answer_state state = answer_state::none;
    runtime::row_mark mark;
  };

  std::span<float> values(part_rows& part) const;

  std::uint32_t dim_;
  std::vector<part_rows> parts_;
};

}  // namespace tidegate::actors
