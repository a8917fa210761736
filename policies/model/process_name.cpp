#include "policies/model/process_name.hpp"

namespace tidegate::policies {

std::string_view to_string(process_role role) noexcept {
  switch (role) {
    case process_role::coordinator:
      return "coordinator";
    case process_role::shard:
      return "shard";
    case process_role::worker:
      return "worker";
    case process_role::aggregator:
      return "aggregator";
    case process_role::replica:
      return "replica";
  }
  return "?";
}

std::optional<process_role> role_of(std::string_view name) noexcept {
  for (const auto role : process_roles)
    if (to_string(role) == name) return role;
  return std::nullopt;
}

std::string process_name::to_string() const {
  std::string text(policies::to_string(role));
  if (!job.empty()) text += "-" + job;
  return text + "-" + std::to_string(index);
}

}  // namespace tidegate::policies
