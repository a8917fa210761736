// What the last steps of a part have changed, so that the versions before the current one can
// be read: of each of these steps the rows that it changed or erased, as they were. A version
// lies in a version buffer, which is a name here (row_part.hpp). Values are here, or with the
// engine of the table (runtime/rows/row_engine.hpp), each step's in a list of its notes. One
// thread. Once warm, nothing allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/parts/row_image.hpp"
#include "runtime/rows/row_engine.hpp"
#include "runtime/rows/row_index.hpp"

namespace tidegate::runtime {

class row_versions {
 public:
  enum class values_lie : std::uint8_t { here, with_engine };
  // `keeps`: versions before the current one that may be read. The first version is named 0.
  row_versions(std::uint32_t keeps, std::uint32_t dim, values_lie where) noexcept
      : keeps_(keeps), dim_(where == values_lie::here ? dim : 0) {}

  // A step begins from the current version, which `from` names, to one that `to` does; what
  // `to` meant before is forgotten.
  void begin_step(std::uint32_t from, std::uint32_t to);
  // Returns true if the version before the step may be read: its rows are to be noted.
  bool notes() const noexcept { return notes_; }
  // Room for notes of these rows, before they are changed: their values, `dim` of each, and
  // whether they existed (1) or the step makes them (0). Valid until the next call.
  struct note_room {
    std::span<float> values;  // none where they lie with an engine
    std::span<std::uint8_t> existed;
    row_notes notes;  // of the engine
  };
  note_room room_for(std::span<const std::uint64_t> ids);
  // Rows have been noted that do not come behind all before by id, or a second time.
  void note_out_of_order() noexcept { out_of_order_ = true; }
  // The step has been made; `rows`: those that there are now.
  void end_step(const index_view& rows);

  bool is_current(std::uint32_t version_buffer) const noexcept {
    return is_among(current_, version_buffer);
  }
  // The rows that a step has changed, as they were before it.
  struct step_change {
    std::vector<std::uint32_t> names;  // version buffers that lie before it and after the next
    row_delta rows;
    std::uint32_t list = 0;            // of the engine's notes
    std::vector<std::uint32_t> notes;  // of rows.ids[i], there
  };
  // Calls visit(change) with what the steps since this version have changed, from the newest to
  // the one that the version lies before: rows as they were there overwrite others.
  template <class Visit>
  void visit(std::uint32_t version_buffer, const Visit& visit_changes) const {
    if (is_current(version_buffer) ||
        is_planted(planted_bug::row_answer_of_the_current_version))
      return;
    for (const auto& change : changes_) {
      visit_changes(change);
      if (is_among(change.names, version_buffer)) return;
    }
    TIDEGATE_ASSERT(false, "a version that is kept");
  }

  // What is kept of the versions that `kept` names, the newest first; null where nothing has
  // changed since, and the reverse, with the names that they and the current one have from now
  // on. Values that lie with an engine are in its lists 0, 1, and so on, of the versions that
  // have rows, in their order.
  std::vector<const step_change*> kept(std::span<const std::uint32_t> names) const;
  void restore(std::uint32_t current, std::span<const std::uint32_t> kept,
               std::span<const row_delta> rows);

 private:
  static bool is_among(const std::vector<std::uint32_t>& names, std::uint32_t name) noexcept {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  void sort(const index_view& rows);

  std::uint32_t keeps_;
  std::uint32_t dim_;
  std::vector<std::uint32_t> current_{0};  // names of the current version
  std::vector<step_change> changes_;       // the newest first
  bool notes_ = false;                     // the step being made is noted in changes_.front()
  bool out_of_order_ = false;
  std::vector<std::uint32_t> places_;
  std::vector<row_number> numbers_;
  row_delta sorted_;
  std::vector<std::uint32_t> sorted_notes_;
};

}  // namespace tidegate::runtime
