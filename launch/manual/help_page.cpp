#include "launch/manual/help_page.hpp"

#include <algorithm>

#include "launch/text/nearest.hpp"

namespace tidegate::launch {

namespace {

using kind = help_part::kind;
using texts = std::vector<std::string>;

constexpr std::size_t item_indent = 2;

texts lines_of(std::string_view text) {
  texts lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::size_t indent_of(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool begins_item(const std::string& line) {
  return indent_of(line) == item_indent;
}

bool is_usage(const std::string& line) {
  return line.starts_with("tidegate ");
}

// Splits an item's first line at the first two blanks behind its term.
help_item item_of(const std::string& line) {
  const auto text = line.substr(item_indent);
  const auto gap = text.find("  ");
  if (gap == std::string::npos) return {.term = text, .lines = {}};
  return {.term = text.substr(0, gap),
          .lines = {text.substr(text.find_first_not_of(' ', gap))}};
}

// Whether lines of a block are a list: what is said of each item is there.
bool is_list(const texts& block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (!begins_item(block[i])) continue;
    const bool goes_on = i + 1 < block.size() && indent_of(block[i + 1]) > item_indent;
    const auto item = item_of(block[i]);
    if (item.lines.empty() && !goes_on && !is_usage(item.term)) return false;
  }
  return begins_item(block.front());
}

help_part list_of(const texts& block) {
  help_part part{.type = kind::items, .lines = {}, .items = {}};
  for (const auto& line : block) {
    if (begins_item(line))
      part.items.push_back(item_of(line));
    else
      part.items.back().lines.push_back(line.substr(indent_of(line)));
  }
  return part;
}

help_part usage_of(const texts& block) {
  help_part part{.type = kind::usage, .lines = {}, .items = {}};
  for (const auto& line : block) {
    if (is_usage(line))
      part.lines.push_back(line);
    else
      part.lines.back() += " " + line.substr(indent_of(line));
  }
  return part;
}

// A heading ends with a colon and has its list directly below.
void add_block(const texts& block, std::vector<help_part>& parts) {
  if (block.empty()) return;
  const bool is_first = parts.empty();
  if (is_first && block.size() == 1 && is_usage(block.front()) &&
      block.front().find(" - ") != std::string::npos) {
    parts.push_back({.type = kind::title, .lines = block, .items = {}});
    return;
  }
  const auto margin = std::find_if(block.begin(), block.end(),
                                   [](const auto& line) { return indent_of(line) != 0; });
  if (is_usage(block.front()) &&
      (is_first || margin != block.end() || block.size() == 1 || is_usage(block.back()))) {
    parts.push_back(usage_of(block));
    return;
  }
  const texts paragraph(block.begin(), margin);
  const texts rest(margin, block.end());
  if (!paragraph.empty())
    parts.push_back({.type = kind::paragraph, .lines = paragraph, .items = {}});
  if (rest.empty()) return;
  if (is_list(rest))
    parts.push_back(list_of(rest));
  else
    parts.push_back({.type = kind::verbatim, .lines = rest, .items = {}});
}

const help_item* item_about(const std::vector<help_part>& parts, std::string_view name) {
  for (const auto& part : parts)
    for (const auto& item : part.items) {
      const auto names = options_in(item);
      if (std::find(names.begin(), names.end(), name) != names.end()) return &item;
    }
  return nullptr;
}

bool ends_name(char c) {
  return c == ' ' || c == ',' || c == '=';
}

}  // namespace

std::vector<help_part> parts_of(std::string_view help) {
  std::vector<help_part> parts;
  texts block;
  for (const auto& line : lines_of(help)) {
    if (!line.empty()) {
      block.push_back(line);
      continue;
    }
    add_block(block, parts);
    block.clear();
  }
  add_block(block, parts);
  return parts;
}

std::vector<std::string> options_in(const help_item& item) {
  texts names;
  const auto& term = item.term;
  if (!term.starts_with('-')) return names;
  for (auto at = term.find("--"); at != std::string::npos; at = term.find("--", at + 2)) {
    const auto begin = term.begin() + static_cast<std::ptrdiff_t>(at) + 2;
    const auto end = std::find_if(begin, term.end(), ends_name);
    if (at == 0 || term[at - 1] == ' ') names.emplace_back(begin, end);
  }
  return names;
}

std::string about_option(const std::vector<help_part>& parts, std::string_view name) {
  const auto* item = item_about(parts, name);
  return item == nullptr ? std::string() : join(item->lines, " ");
}

std::string value_word(const std::vector<help_part>& parts, std::string_view name) {
  const auto* item = item_about(parts, name);
  if (item == nullptr) return {};
  const auto option = "--" + std::string(name);
  const auto end = item->term.find(option) + option.size();
  const auto from = item->term.find_first_not_of(' ', end);
  if (from == std::string::npos || from == end) return {};
  return item->term.substr(from);
}

}  // namespace tidegate::launch
