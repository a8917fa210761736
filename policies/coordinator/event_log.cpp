#include "policies/coordinator/event_log.hpp"

#include <utility>

#include "runtime/base/limits.hpp"

namespace tidegate::policies::coordination {

namespace limits = runtime::limits;

void event_log::add(std::int64_t now, std::string subject, std::string detail,
                    event_fields about) {
  constexpr std::size_t reserve = 1024;
  const bool matters = subject.starts_with("job_") || subject == "process_condemned";
  if (events_.size() < limits::events_max - (matters ? 0 : reserve))
    events_.push_back({now, std::move(subject), std::move(detail), std::move(about)});
}

std::vector<cluster_event> event_log::since(std::uint64_t seen) const {
  if (seen >= events_.size()) return {};
  return {events_.begin() + static_cast<std::ptrdiff_t>(seen), events_.end()};
}

}  // namespace tidegate::policies::coordination
