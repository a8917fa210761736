#include "launch/door/door_messages.hpp"

#include <algorithm>

namespace tidegate::launch {

namespace {

constexpr std::size_t head_bytes = 5;

bool is_word(char kind) {
  return kind == 'I' || kind == 'E' || kind == 'S' || kind == 'X';
}

std::size_t length_in(std::string_view head) {
  std::size_t length = 0;
  for (std::size_t i = 1; i < head_bytes; ++i)
    length |= std::size_t{static_cast<unsigned char>(head[i])} << (8 * (i - 1));
  return length;
}

void append(std::string& text, door_word word, std::string_view bytes) {
  text += static_cast<char>(word);
  for (std::size_t i = 0; i < head_bytes - 1; ++i)
    text += static_cast<char>(bytes.size() >> (8 * i) & 0xFFU);
  text += bytes;
}

}  // namespace

std::string door_text(door_word word, std::string_view bytes) {
  std::string text;
  do {
    const auto part = bytes.substr(0, door_message_bytes_max);
    append(text, word, part);
    bytes.remove_prefix(part.size());
  } while (!bytes.empty());
  return text;
}

runtime::status take_door_messages(std::string& text, std::vector<door_message>& into) {
  std::size_t taken = 0;
  runtime::status result;
  while (text.size() - taken >= head_bytes) {
    const auto head = std::string_view(text).substr(taken, head_bytes);
    const auto length = length_in(head);
    if (!is_word(head[0]) || length > door_message_bytes_max) {
      result = {runtime::errc::corrupt, "what has arrived is no message of a door"};
      break;
    }
    if (text.size() - taken < head_bytes + length) break;
    into.push_back({static_cast<door_word>(head[0]), text.substr(taken + head_bytes, length)});
    taken += head_bytes + length;
  }
  text.erase(0, taken);
  return result;
}

}  // namespace tidegate::launch
