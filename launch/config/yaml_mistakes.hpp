// Why a text is no YAML, in words of those who have written it: the mistakes that people make
// with indentation, colons, quotes and brackets. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tidegate::launch {

struct yaml_mistake {
  int line = 1;    // from 1
  int column = 1;  // likewise
  std::string subject;
};

// The mistake that a parser may have met at this line, from 1, of a text that it has refused.
// Of a text that is YAML it would say nonsense. Nothing: none of those that are known.
std::optional<yaml_mistake> find_mistake(std::string_view text, int refused_at);

// A quote that is open at the end of a text that a parser has taken all the same.
std::optional<yaml_mistake> find_open_quote(std::string_view text);

// What may be wrong with a line that became a key without a value: "name:c", "name c". Empty:
// nothing that is known.
std::string mistake_in_key(std::string_view key);

// Why a parser has begun another document at this line, from 1, of the text. Empty: somebody
// has asked for it.
std::string ends_early(std::string_view text, int line);

}  // namespace tidegate::launch
