#include "runtime/ucx/ucx_error.hpp"

#include <cstdlib>
#include <string>

namespace tidegate::runtime {

status ucx_error(const char* operation, ucs_status_t code) {
  const char* tls = std::getenv("UCX_TLS");
  const auto transports =
      tls ? "UCX_TLS=" + std::string(tls) : std::string("UCX_TLS is not set");
  return {errc::unavailable,
          std::string(operation) + ": " + ucs_status_string(code) + " (" + transports + ")"};
}

}  // namespace tidegate::runtime
