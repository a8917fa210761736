// Which lists of ids the parts of tables of rows are believed to keep of this worker: those
// that have come there with a push or pull that was acknowledged or answered. A list that is
// known is named in place of being sent. A part may keep it no more, or be another process:
// then it refuses the name, and the list is sent.
//
// No more is believed of a part than it keeps: the oldest lists are forgotten first, as
// there. Pure, one thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/worker/core.hpp"
#include "policies/worker/effects.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/list_name.hpp"

namespace tidegate::policies {

// The list of a push or pull whose ids are coded.
struct sent_list {
  runtime::list_name name;
  std::uint64_t bytes = 0;  // list_bytes() of it
};

class known_lists {
 public:
  // `bytes_max`: of the lists of a part.
  explicit known_lists(std::uint64_t bytes_max = runtime::list_bytes_max)
      : bytes_max_(bytes_max) {}

  // A push or a call leaves, with the list. Returns true if its part is believed to keep it.
  bool sends(const worker_effects::send& send, const sent_list& list);
  // Takes in a frame. Returns what is to be sent again with its list, if the frame refuses the
  // name of a list that was sent.
  std::optional<worker_core::unanswered> take(const runtime::frame_header& header);

  // The same of a push of this clock, or of a pull.
  bool push(std::uint32_t table, std::uint32_t part, std::uint64_t clock,
            const sent_list& list);
  bool pull(std::uint32_t table, std::uint32_t part, const sent_list& list);
  // The part has taken what was sent so last.
  void push_taken(std::uint32_t table, std::uint32_t part, std::uint64_t clock);
  void pull_taken(std::uint32_t table, std::uint32_t part);
  // The part has refused the name of what was sent so last. Returns false if nothing was.
  bool push_refused(std::uint32_t table, std::uint32_t part, std::uint64_t clock);
  bool pull_refused(std::uint32_t table, std::uint32_t part);
  // Another process serves the part, or may.
  void forget(std::uint32_t table, std::uint32_t part);

  // Returns the bytes of what is believed to be kept by a part.
  std::uint64_t bytes(std::uint32_t table, std::uint32_t part) const;

 private:
  static constexpr auto window = runtime::limits::clocks_in_flight_max;

  struct part_lists {
    std::vector<sent_list> kept;  // the oldest first
    std::uint64_t bytes = 0;      // of them
    std::optional<sent_list> pulled;
    struct {
      std::uint64_t clock = 0;
      std::optional<sent_list> list;
    } pushed[window];
  };
  using part_key = std::pair<std::uint32_t, std::uint32_t>;  // table, part

  part_lists* find(std::uint32_t table, std::uint32_t part);
  static bool is_kept(const part_lists& of, const sent_list& list);
  void keep(part_lists& of, const sent_list& list) const;
  static void drop(part_lists& of, const sent_list& list);

  std::uint64_t bytes_max_;
  std::map<part_key, part_lists> parts_;
};

}  // namespace tidegate::policies
