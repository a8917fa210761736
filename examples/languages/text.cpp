#include "examples/languages/text.hpp"

#include <array>
#include <charconv>
#include <fstream>

namespace tidegate::examples {

namespace {

// Returns the character at `at`, and moves on; what is no UTF-8 is taken byte by byte.
std::uint32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(at);
  const std::size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  std::uint32_t value = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length && at + i < text.size(); ++i)
    value = value << 6 | (byte(at + i) & 0x3fU);
  at += length;
  return value;
}

std::uint64_t id_of(std::uint64_t ngram) {
  constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15;
  return ngram * golden >> (64 - 22);
}

}  // namespace

expected<std::vector<paragraph>> read_paragraphs(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return fail(errc::not_found,
                path + ": no such file; examples/languages/prepare.py writes it");
  std::vector<paragraph> all;
  for (std::string line; std::getline(file, line);) {
    paragraph next;
    const auto* end = line.data() + line.size();
    const auto [tab, error] = std::from_chars(line.data(), end, next.language);
    if (error != std::errc() || tab == end || *tab != '\t' || next.language >= languages)
      return fail(errc::corrupt, path + ", line " + std::to_string(all.size() + 1) +
                                     ": not the number of a language, a tab, and a text");
    next.text.assign(tab + 1, end);
    all.push_back(std::move(next));
  }
  if (all.empty()) return fail(errc::corrupt, path + ": it is empty");
  return all;
}

std::vector<std::uint64_t> ngrams_of(std::string_view text) {
  std::vector<std::uint64_t> ids;
  std::uint64_t before = 0, last = 0;  // characters
  for (std::size_t at = 0; at < text.size();) {
    const std::uint64_t character = next_character(text, at);
    ids.push_back(id_of(character));
    if (last != 0) ids.push_back(id_of(character | last << 21));
    if (before != 0) ids.push_back(id_of(character | last << 21 | before << 42));
    before = last;
    last = character;
  }
  return ids;
}

}  // namespace tidegate::examples
