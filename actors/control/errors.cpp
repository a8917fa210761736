#include "actors/control/errors.hpp"

#include <caf/all.hpp>

namespace tidegate::actors {

namespace {
constexpr auto category = caf::atom("tidegate");
}

caf::error to_error(const runtime::status& why) {
  return caf::error(static_cast<std::uint8_t>(why.code()), category,
                    caf::make_message(why.message()));
}

runtime::status to_status(const caf::error& why, const std::string& doing) {
  using runtime::errc;
  if (why.category() == category) {
    std::string text = doing;
    if (why.context().match_elements<std::string>())
      text = why.context().get_as<std::string>(0);
    return {static_cast<errc>(why.code()), text};
  }
  if (why == caf::sec::request_timeout) return {errc::timed_out, doing + ": no answer in time"};
  return {errc::unavailable, doing + ": the peer is gone or was never there"};
}

bool is_lost(const caf::error& why) {
  if (why.category() == category) return false;
  return why != caf::sec::request_timeout && why != caf::sec::unexpected_message &&
         why != caf::sec::unexpected_response && why != caf::sec::runtime_error;
}

}  // namespace tidegate::actors
