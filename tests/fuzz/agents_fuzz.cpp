// Fuzz target: what agents, launchers, doors and relays say to each other once they have proven
// who they are.
//
// What is no message is refused; what is one says the same when it is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "launch/agents/agent_text.hpp"
#include "launch/door/door_messages.hpp"
#include "runtime/base/assert.hpp"

namespace {

using namespace tidegate;

template <class Parse, class Write>
void read_and_write(std::string_view text, const Parse& parse, const Write& write) {
  const auto first = parse(text);
  if (!first) return;
  const auto written = write(*first);
  const auto again = parse(written);
  TIDEGATE_ASSERT(again.has_value(), "what was written can be read");
  TIDEGATE_ASSERT(write(*again) == written, "and says the same");
}

void take_messages(std::string_view text) {
  using launch::take_door_messages;
  std::string arrived(text.substr(0, text.size() / 2));
  std::vector<launch::door_message> in_parts;
  auto went = take_door_messages(arrived, in_parts);
  if (went.ok()) {
    arrived += text.substr(text.size() / 2);
    went = take_door_messages(arrived, in_parts);
  }
  std::string whole(text);
  std::vector<launch::door_message> at_once;
  TIDEGATE_ASSERT(
      take_door_messages(whole, at_once).code() == went.code() && at_once == in_parts,
      "messages do not depend on how they are cut");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      read_and_write(
          text, [](auto x) { return launch::parse_greeting(x); },
          [](const auto& x) { return launch::greeting_text(x); });
      break;
    case 1:
      read_and_write(
          text, [](auto x) { return launch::parse_agent_frame(x); },
          [](const auto& x) { return launch::frame_text(x); });
      break;
    case 2:
      read_and_write(
          text, [](auto x) { return launch::parse_launcher_frame(x); },
          [](const auto& x) { return launch::frame_text(x); });
      break;
    default:
      take_messages(text);
  }
  return 0;
}
