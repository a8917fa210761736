#include "launch/config/yaml_mistakes.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace tidegate::launch {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string quoted(char c) {
  return std::string("'") + c + "'";
}

bool is_blank(char c) {
  return blanks.find(c) != std::string_view::npos;
}

// Where a quote or bracket begins something, and is no letter of a text.
bool begins_token(std::string_view line, std::size_t at) {
  const auto before = line.substr(0, at).find_last_not_of(blanks);
  return before == std::string_view::npos ||
         std::string_view("[{,:-?").find(line[before]) != std::string_view::npos;
}

// The place of the colon that ends the key of a line; npos: it has no key.
std::size_t colon_of_key(std::string_view line) {
  if (line.starts_with('[') || line.starts_with('{')) return std::string_view::npos;
  std::size_t at = 0;
  if (line.starts_with('"') || line.starts_with('\'')) at = line.find(line.front(), 1);
  for (; at < line.size(); ++at)
    if (line[at] == ':' && (at + 1 == line.size() || is_blank(line[at + 1]))) return at;
  return std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text;
}

// Where a value or an item of a list begins, outside of brackets: behind "- " and the key
// alone. Elsewhere a quote is a letter of a text that has begun before it.
bool begins_value(std::string_view line, std::size_t at) {
  auto before = trimmed(line.substr(0, at));
  while (before.starts_with("- ")) before = trimmed(before.substr(1));
  while (!before.empty() && is_blank(before.back())) before.remove_suffix(1);
  return before.empty() ? line.substr(0, at).find('-') != std::string_view::npos
                        : colon_of_key(before) == before.size() - 1;
}

// "name:value", which is a text and no key.
bool lacks_blank(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 >= line.size()) return false;
  const auto is_of_key = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_.-*\"").find(c) != std::string_view::npos;
  };
  return line[colon + 1] != '/' && std::all_of(line.begin(), line.begin() + colon, is_of_key);
}

std::string no_blank(const std::string& word) {
  return "there is no blank behind the colon of '" + word + "'; allowed: " + word + ": value";
}

std::string no_colon(const std::string& word) {
  return "there is no colon behind '" + word + "'; allowed: " + word + ": value";
}

// The mark with which a text begins that stands for something else in YAML; 0: it has none.
char reserved_mark(std::string_view text) {
  return text.empty() ||
                 std::string_view("@%`*&!|>").find(text.front()) == std::string_view::npos
             ? '\0'
             : text.front();
}

class mistake_finder {
 public:
  explicit mistake_finder(int refused_at) : refused_at_(refused_at) {}

  // The quote that is open at the end of the text, in which quotes may hold several lines.
  std::optional<yaml_mistake> look_for_open_quote(std::string_view text) {
    quotes_may_go_on_ = true;
    static_cast<void>(look(text));  // what it guesses of a file that a parser takes is wrong
    return open_quote_ ? std::optional(not_closed(*open_quote_)) : std::nullopt;
  }

  std::optional<yaml_mistake> look(std::string_view text) {
    while (!text.empty() && (!found_ || quotes_may_go_on_)) {
      ++line_;
      const auto end = std::min(text.find('\n'), text.size());
      take(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!found_ && !brackets_.empty()) found_ = not_closed(brackets_.back());
    if (found_ && (is_certain_ || found_->line <= refused_at_)) return found_;
    return likely_;
  }

 private:
  struct level {
    std::size_t indent = 0;
    bool opens = false;  // its last line has a key alone: what is deeper belongs to it
    bool has_keys = false;
    bool is_item = false;  // a text behind "- "
  };
  struct opening {
    char mark = 0;
    int line = 0;
    std::size_t column = 0;
    std::size_t indent = 0;  // of its line
  };

  yaml_mistake at(std::size_t column, std::string subject) const {
    return {
        .line = line_, .column = static_cast<int>(column) + 1, .subject = std::move(subject)};
  }

  yaml_mistake not_closed(const opening& begun) {
    is_certain_ = true;
    return {.line = begun.line,
            .column = static_cast<int>(begun.column) + 1,
            .subject =
                "the " +
                std::string(begun.mark == '"' || begun.mark == '\'' ? "quote " : "bracket ") +
                quoted(begun.mark) + " that begins here is not closed"};
  }

  void take(std::string_view line) {
    const auto indent = std::min(line.find_first_not_of(' '), line.size());
    auto content = line.substr(indent);
    while (!content.empty() && is_blank(content.back())) content.remove_suffix(1);
    if (open_quote_) return take_marks(line, 0);
    if (content.empty() || is_in_block_text(indent)) return;
    if (is_block_text_ && indent > block_text_key_ && content.front() != '#') {
      refuse(indent, block_text_indent_);
      return;
    }
    is_block_text_ = false;
    if (content.front() == '#' || content == "---") return;
    if (brackets_.empty()) {
      take_line(indent, without_comment(content));
    } else if (indent <= brackets_.back().indent &&
               colon_of_key(content) != std::string_view::npos) {
      found_ = not_closed(brackets_.back());
    }
    if (!found_ || quotes_may_go_on_) take_marks(line, indent);
  }

  // Its first line says how far all of it are indented.
  bool is_in_block_text(std::size_t indent) {
    if (!is_block_text_ || indent <= block_text_key_) return false;
    if (block_text_indent_ == 0) block_text_indent_ = indent;
    return indent >= block_text_indent_;
  }

  static std::string_view without_comment(std::string_view content) {
    const auto begin = content.find(" #");
    auto text = content.substr(0, begin);
    // In quotes it is no comment, and a line is not cut in the middle of a text.
    if (std::count(text.begin(), text.end(), '"') % 2 != 0) text = content;
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
  }

  // A line that no bracket of those before it holds.
  void take_line(std::size_t indent, std::string_view content) {
    if (content == "-" || content.starts_with("- ")) {
      if (!fits(indent, true)) return;
      if (levels_.back().has_keys && !levels_.back().opens) {
        found_ = at(indent, "an item of a list stands beside keys; allowed: items below a key");
        return;
      }
      levels_.back().opens = true;
      const auto text = std::min(content.find_first_not_of(" ", 1), content.size());
      if (text == content.size()) return;
      if (colon_of_key(content.substr(text)) != std::string_view::npos)
        return take_line(indent + text, content.substr(text));
      levels_.push_back({.indent = indent + text, .is_item = true});
      begin_block_text(indent, content.substr(text));
      return;
    }
    const auto colon = colon_of_key(content);
    const bool has_key = colon != std::string_view::npos;
    const bool is_beside = !levels_.empty() && levels_.back().indent == indent;
    if (!fits(indent, has_key)) return;
    if (has_key) {
      levels_.back().has_keys = true;
      return take_value(indent, content, colon);
    }
    if (line_ > refused_at_) return;
    const auto word = std::string(content.substr(0, content.find_first_of(" :")));
    if (lacks_blank(content))
      likely_ = at(indent, no_blank(word));
    else if (is_beside || !likely_)
      likely_ = at(indent, no_colon(word));
  }

  void take_value(std::size_t indent, std::string_view content, std::size_t colon) {
    const auto value = trimmed(content.substr(colon + 1));
    levels_.back().opens = value.empty() || value.front() == '&' || value.front() == '!';
    begin_block_text(indent, value);
    if (value.empty() || line_ > refused_at_ || is_block_text_ || value.front() == '"' ||
        value.front() == '\'')
      return;
    const auto column = indent + static_cast<std::size_t>(value.data() - content.data());
    if (const char mark = reserved_mark(value); mark != 0)
      likely_ = at(column, "a text that begins with " + quoted(mark) +
                               " is something else in YAML; allowed: quotes around it");
    else if (colon_of_key(value) != std::string_view::npos)
      likely_ = at(column + colon_of_key(value), "a second colon in the value of '" +
                                                     std::string(content.substr(0, colon)) +
                                                     "'; allowed: quotes around the value");
  }

  // If the value does: what is deeper than its key, or its item, is text.
  void begin_block_text(std::size_t indent, std::string_view value) {
    is_block_text_ = value.starts_with('|') || value.starts_with('>');
    block_text_key_ = indent;
    block_text_indent_ = 0;
  }

  // Looks whether a line may be indented so, and enters its level.
  bool fits(std::size_t indent, bool has_key) {
    auto deeper = indent;
    while (!levels_.empty() && levels_.back().indent > indent) {
      deeper = levels_.back().indent;
      levels_.pop_back();
    }
    if (levels_.empty() && deeper == indent) levels_.push_back({indent, false});
    if (!levels_.empty() && levels_.back().is_item && has_key) {
      levels_.pop_back();  // what it says is not "- " that is deeper than the others
      if (levels_.empty() || levels_.back().indent != indent) return refuse(indent, indent);
    }
    if (!levels_.empty() && levels_.back().indent == indent) return true;
    const bool goes_back = deeper != indent;
    if (!goes_back && !has_key && !levels_.back().opens) {
      levels_.push_back({indent, false});  // a text that goes on
      return true;
    }
    if (!goes_back && levels_.back().opens) {
      levels_.push_back({indent, false});
      return true;
    }
    // The line before may have meant to be the key that this one is below.
    if (!goes_back && likely_ && likely_->line + 1 == line_) {
      found_ = likely_;
      return false;
    }
    return refuse(indent, deeper);
  }

  // `deeper`: the level that it leaves, or the same.
  bool refuse(std::size_t indent, std::size_t deeper) {
    const bool goes_back = deeper != indent;
    auto neighbours = goes_back ? std::to_string(deeper) : std::string();
    if (!levels_.empty())
      neighbours += (goes_back ? " and " : "") + std::to_string(levels_.back().indent);
    found_ = at(indent, "line " + std::to_string(line_) + " is indented by " +
                            std::to_string(indent) + ", its neighbours by " + neighbours);
    return false;
  }

  // Quotes and brackets of a line.
  void take_marks(std::string_view line, std::size_t indent) {
    auto i = indent;
    if (open_quote_) {
      const auto end = end_of_quote(line, open_quote_->mark, 0);
      if (end == std::string_view::npos) return;
      open_quote_.reset();
      i = end + 1;
    }
    for (; i < line.size() && (!found_ || quotes_may_go_on_); ++i) {
      const char c = line[i];
      if (c == '#' && (i == 0 || is_blank(line[i - 1]))) return;
      const bool begins = begins_token(line, i);
      // A file that a parser takes may have quotes anywhere in its texts.
      if (quotes_may_go_on_ && brackets_.empty() && (c == '"' || c == '\'') &&
          !begins_value(line, i))
        continue;
      if ((c == '"' || c == '\'') && begins) {
        if (!take_quote(line, i, {.mark = c, .line = line_, .column = i, .indent = indent}))
          return;
      } else if ((c == '[' || c == '{') && (begins || !brackets_.empty())) {
        brackets_.push_back({.mark = c, .line = line_, .column = i, .indent = indent});
      } else if ((c == ']' || c == '}') && (begins || !brackets_.empty())) {
        close(i, c);
      }
    }
  }

  // Goes to the end of a quoted text, which ends its line or has a mark behind it. Returns
  // false if no more of the line is to be looked at.
  bool take_quote(std::string_view line, std::size_t& i, const opening& begun) {
    const auto end = end_of_quote(line, begun.mark, i + 1);
    if (end == std::string_view::npos) {
      if (quotes_may_go_on_)
        open_quote_ = begun;
      else
        found_ = not_closed(begun);
      return false;
    }
    i = end;
    const auto rest = trimmed(line.substr(end + 1));
    if (!rest.empty() &&
        std::string_view(",]}:#").find(rest.front()) == std::string_view::npos &&
        !quotes_may_go_on_)
      found_ = at(end, "there is text behind this quote, which closes that of column " +
                           std::to_string(begun.column + 1));
    return true;
  }

  static std::size_t end_of_quote(std::string_view line, char mark, std::size_t from) {
    for (auto i = from; i < line.size(); ++i) {
      const bool is_double = i + 1 < line.size() && line[i] == mark && line[i + 1] == mark;
      if ((mark == '"' && line[i] == '\\') || (mark == '\'' && is_double))
        ++i;
      else if (line[i] == mark)
        return i;
    }
    return std::string_view::npos;
  }

  void close(std::size_t column, char mark) {
    const char begun = mark == ']' ? '[' : '{';
    if (!brackets_.empty() && brackets_.back().mark == begun) return brackets_.pop_back();
    is_certain_ = true;
    found_ = at(column, "the bracket " + quoted(mark) +
                            (brackets_.empty()
                                 ? " closes nothing"
                                 : " does not close the " + quoted(brackets_.back().mark) +
                                       " of line " + std::to_string(brackets_.back().line)));
  }

  int refused_at_;
  int line_ = 0;
  std::vector<level> levels_;
  std::vector<opening> brackets_;
  bool is_block_text_ = false;          // behind "key: |"
  std::size_t block_text_key_ = 0;      // how far its key is indented
  std::size_t block_text_indent_ = 0;   // and its lines; 0: none has come yet
  bool quotes_may_go_on_ = false;       // on the next line
  std::optional<opening> open_quote_;   // that does
  bool is_certain_ = false;             // wherever a parser has given up
  std::optional<yaml_mistake> found_;   // the first
  std::optional<yaml_mistake> likely_;  // the last that may be a text as well
};

}  // namespace

std::optional<yaml_mistake> find_mistake(std::string_view text, int refused_at) {
  return mistake_finder(refused_at).look(text);
}

std::optional<yaml_mistake> find_open_quote(std::string_view text) {
  return mistake_finder(0).look_for_open_quote(text);
}

std::string mistake_in_key(std::string_view key) {
  const auto word = std::string(key.substr(0, key.find_first_of(" :")));
  if (lacks_blank(key)) return no_blank(word);
  return word.size() < key.size() && !word.empty() ? no_colon(word) : std::string();
}

std::string ends_early(std::string_view text, int line) {
  const auto indent_of = [](std::string_view of) { return of.find_first_not_of(' '); };
  int first = 0;
  std::size_t indent_first = 0;
  for (int at = 1; at <= line && !text.empty(); ++at) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto read = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto indent = indent_of(read);
    if (indent == std::string_view::npos || read[indent] == '#') continue;
    if (read.starts_with("---") || read.starts_with("...")) return {};
    if (first == 0) indent_first = indent;
    if (first == 0) first = at;
    if (at == line && indent < indent_first)
      return "the YAML ends early: line " + std::to_string(line) + " is indented by " +
             std::to_string(indent) + ", line " + std::to_string(first) + " by " +
             std::to_string(indent_first);
  }
  return "the YAML ends early: what begins here does not belong to what is before it";
}

}  // namespace tidegate::launch
