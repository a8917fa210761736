// The events of a run that the coordinator has seen, for events.jsonl and the launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "policies/model/cluster_status.hpp"

namespace tidegate::policies::coordination {

// Keeps the first limits::events_max events and drops later ones: a run must not fill the
// memory with them. The last 1024 places are kept for events that say how jobs end. `now` is
// unix nanoseconds.
class event_log {
 public:
  void add(std::int64_t now, std::string subject, std::string detail, event_fields about = {});
  // Returns the events after the first `seen`.
  std::vector<cluster_event> since(std::uint64_t seen) const;

 private:
  std::vector<cluster_event> events_;
};

}  // namespace tidegate::policies::coordination
