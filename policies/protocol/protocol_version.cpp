#include "policies/protocol/protocol_version.hpp"

#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

std::string protocol_text() {
  return std::to_string(runtime::frame_version) + "." + std::to_string(control_version);
}

runtime::status check_protocol(const char* launchers, std::string_view remedy) {
  const std::string theirs = launchers == nullptr ? "" : launchers;
  if (theirs == protocol_text()) return {};
  const auto they =
      theirs.empty() ? "does not say which it speaks (" + std::string(protocol_variable) + ")"
                     : "speaks " + theirs;
  return {runtime::errc::invalid_argument, "built for protocol " + protocol_text() +
                                               ", the launcher " + they + ": " +
                                               std::string(remedy)};
}

}  // namespace tidegate::policies
