#include "launch/manual/complete.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "launch/config/fault_words.hpp"
#include "launch/manual/help_page.hpp"
#include "launch/manual/key_words.hpp"
#include "launch/manual/usage_line.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/printable.hpp"

namespace tidegate::launch {

namespace {

using words_of_line = std::vector<std::string>;
using kind = help_part::kind;
using names = completion::names;

class line_completer {
 public:
  line_completer(const std::vector<command_page>& pages, const lookups& there)
      : pages_(pages), there_(there) {}

  completion complete(const words_of_line& words) {
    begun_ = words.back();
    if (words.size() == 1) {
      add_commands("");
      for (const auto* word : {"--help", "--version"}) add({word});
    } else if (words.front() == "help") {
      if (words.size() == 2) add_commands("");
      if (words.size() == 2) add({"yaml", "the keys of a cluster file"});
      if (words.size() == 3 && words[1] == "yaml")
        for (auto& key : keys_for_help(begun_)) add(std::move(key));
    } else if (const auto* page = page_of(words)) {
      complete_command(*page, words);
    }
    return std::move(result_);
  }

 private:
  void add(suggestion word) {
    if (word.word.starts_with(begun_)) result_.words.push_back(std::move(word));
  }

  void add_commands(const std::string& above) {
    for (const auto& page : pages_) {
      const auto space = page.name.rfind(' ');
      const auto parent = space == std::string::npos ? "" : page.name.substr(0, space);
      if (page.name.empty() || parent != above) continue;
      add({space == std::string::npos ? page.name : page.name.substr(space + 1),
           about_command(pages_, page.name)});
    }
  }

  // The page of the longest name that the words before the last begin with.
  const command_page* page_of(const words_of_line& words) const {
    const command_page* found = nullptr;
    const auto before = join(std::span(words.data(), words.size() - 1), " ") + " ";
    for (const auto& page : pages_)
      if (!page.name.empty() && before.starts_with(page.name + " ") &&
          (found == nullptr || page.name.size() > found->name.size()))
        found = &page;
    return found;
  }

  const option_name* option_of(const command_page& page, const std::string& word) const {
    const auto name = word.substr(0, word.find('='));
    for (const auto& option : page.options)
      if (name == "--" + option.name ||
          (option.letter != 0 && name == std::string("-") + option.letter))
        return &option;
    return nullptr;
  }

  void complete_command(const command_page& page, const words_of_line& words) {
    const auto first =
        static_cast<std::size_t>(1 + std::count(page.name.begin(), page.name.end(), ' '));
    const option_name* open = nullptr;  // its value comes next
    for (auto i = first; i + 1 < words.size(); ++i) {
      const auto* option = open == nullptr ? option_of(page, words[i]) : nullptr;
      if (open == nullptr && option == nullptr) positional_.push_back(words[i]);
      const bool is_open =
          option != nullptr && option->has_value && words[i].find('=') == std::string::npos;
      open = is_open ? option : nullptr;
    }
    const auto parts = parts_of(page.help);
    if (open != nullptr) return add_value(page, parts, *open);
    if (const auto equals = begun_.find('=');
        begun_.starts_with("--") && equals != std::string::npos) {
      const auto* option = option_of(page, begun_);
      if (option == nullptr) return;
      prefix_ = begun_.substr(0, equals + 1);
      begun_ = begun_.substr(equals + 1);
      add_value(page, parts, *option);
      for (auto& word : result_.words) word.word.insert(0, prefix_);
      return;
    }
    if (!begun_.starts_with('-')) add_positional(page, parts);
    if (positional_.empty() && !begun_.starts_with('-')) add_commands(page.name);
    const bool is_bare = result_.words.empty() && result_.also == names::none;
    if (begun_.starts_with('-') || (begun_.empty() && is_bare)) add_options(page, parts);
  }

  void add_options(const command_page& page, const std::vector<help_part>& parts) {
    for (const auto& option : page.options)
      add({"--" + option.name, option.name == "help" ? "what it is, and its options"
                                                     : about_option(parts, option.name)});
  }

  void add_value(const command_page& page, const std::vector<help_part>& parts,
                 const option_name& option) {
    auto word = value_word(parts, option.name);
    if (option.name == "job") word = "JOB";
    if (word == "path=value")
      for (auto& key : keys_for_set(begun_, there_.file(file_of(page, parts))))
        add(std::move(key));
    else
      add_named(word);
  }

  // The words that are expected at the place after those that are there.
  void add_positional(const command_page& page, const std::vector<help_part>& parts) {
    const auto at = positional_.size();
    words_of_line seen;
    for (const auto& expected : usages_of(page, parts)) {
      if (at >= expected.size() || !fits(expected)) continue;
      if (std::find(seen.begin(), seen.end(), expected[at]) != seen.end()) continue;
      seen.push_back(expected[at]);
      add_expected(expected[at]);
    }
  }

  bool fits(const words_of_line& expected) const {
    for (std::size_t i = 0; i < positional_.size(); ++i) {
      const auto choices = split(expected[i], '|');
      const bool is_fixed =
          !is_named(expected[i]) && expected[i].find('=') == std::string::npos;
      if (is_fixed &&
          std::find(choices.begin(), choices.end(), positional_[i]) == choices.end())
        return false;
    }
    return true;
  }

  // A word with a capital in it stands for something.
  static bool is_named(const std::string& word) {
    const auto name = word.substr(0, word.find('='));
    return std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  }

  void add_expected(const std::string& word) {
    if (is_named(word)) return add_named(word);
    for (const auto& choice : split(word, '|'))
      add({choice.substr(0,
                         choice.find('=') + (choice.find('=') != std::string::npos ? 1 : 0))});
  }

  void add_named(const std::string& word) {
    if (word == "FILE" || word.ends_with(".json")) result_.also = names::files;
    if (word == "DIR" || word == "FOLDER") result_.also = names::folders;
    const auto run = positional_.empty() ? std::string() : positional_.front();
    if (word == "PROCESS")
      for (auto& process : there_.processes(run)) add({std::move(process)});
    if (word == "JOB")
      for (auto& job : there_.jobs(run)) add({std::move(job)});
    if (word != "RUN_DIR" && word != "FOLDER") return;
    for (auto& each : there_.runs(begun_)) add({std::move(each), "a run"});
    if (result_.words.empty()) result_.also = names::folders;
  }

  std::vector<words_of_line> usages_of(const command_page& page,
                                       const std::vector<help_part>& parts) const {
    std::vector<words_of_line> usages;
    for (const auto& part : parts)
      for (const auto& line : part.lines)
        if (part.type == kind::usage && (line + " ").starts_with("tidegate " + page.name + " "))
          usages.push_back(positional_words(line, page));
    return usages;
  }

  std::string file_of(const command_page& page, const std::vector<help_part>& parts) const {
    for (const auto& expected : usages_of(page, parts))
      for (std::size_t i = 0; i < std::min(expected.size(), positional_.size()); ++i)
        if (expected[i] == "FILE") return positional_[i];
    return {};
  }

  const std::vector<command_page>& pages_;
  const lookups& there_;
  std::string begun_;         // the word that is typed, or the value in it
  std::string prefix_;        // "--run-dir=" before that value
  words_of_line positional_;  // that are there
  completion result_;
};

}  // namespace

completion complete(const std::vector<command_page>& pages, const words_of_line& words,
                    const lookups& there) {
  if (words.empty()) return {};
  return line_completer(pages, there).complete(words);
}

std::string completion_lines(const completion& all) {
  constexpr std::size_t about_bytes_max = 80;
  std::string text;
  for (const auto& [word, about] : all.words) {
    // A name with a control character in it cannot be typed in a line either.
    if (printable(word) != word) continue;
    text += word + (about.empty() ? "" : "\t" + shortened(about, about_bytes_max)) + "\n";
  }
  if (all.also == names::files) text += ":files\n";
  if (all.also == names::folders) text += ":folders\n";
  return text;
}

std::string about_command(const std::vector<command_page>& pages, const std::string& name) {
  for (const auto& page : pages)
    for (const auto& part : parts_of(page.help))
      for (const auto& item : part.items)
        if ((item.term + " ").starts_with("tidegate " + name + " ")) {
          const auto text = join(item.lines, " ");
          return text.substr(0, text.find("; see tidegate "));
        }
  return {};
}

}  // namespace tidegate::launch
