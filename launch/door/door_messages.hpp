// What a door and a relay say to each other once the key is proven: messages of a kind, a
// length of 4 bytes (the lowest first) and so many bytes. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

enum class door_word : char {
  input = 'I',      // to the agent's standard input
  input_end = 'E',  // which ends
  output = 'S',     // the agent has said this
  ended = 'X',      // and has ended; a byte: its exit status, or signal_status and the signal
};

struct door_message {
  door_word word = door_word::input;
  std::string bytes;

  friend bool operator==(const door_message&, const door_message&) = default;
};

// The exit status that stands for a signal is this and the signal, as shells count.
inline constexpr int signal_status = 128;
inline constexpr std::size_t door_message_bytes_max = std::size_t{64} << 10U;

// Returns the messages that carry these bytes; at least one.
std::string door_text(door_word word, std::string_view bytes = {});
// Takes whole messages from the front of `text`, and appends them. Errors: corrupt (it is no
// message; nothing that follows can be read).
runtime::status take_door_messages(std::string& text, std::vector<door_message>& into);

}  // namespace tidegate::launch
