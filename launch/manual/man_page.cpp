#include "launch/manual/man_page.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "launch/manual/complete.hpp"
#include "launch/manual/help_page.hpp"
#include "launch/manual/usage_line.hpp"

namespace tidegate::launch {

namespace {

using kind = help_part::kind;

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string heading(const std::string& name, const char* section, const manual_edition& edition,
                    const std::string& about) {
  return ".TH \"" + upper(name) + "\" \"" + section + "\" \"" + edition.date +
         "\" \"tidegate " + edition.version + "\" \"Tidegate\"\n.SH NAME\n" + man_text(name) +
         " \\- " + man_text(about) + "\n";
}

// Options and names are bold, and what stands for something else is in italics.
std::string marked(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const auto end = std::min(line.find_first_of(" ,=[]|"), line.size());
    const auto word = line.substr(0, end);
    const bool is_bold = word.starts_with('-') || word == "tidegate";
    const char* font = is_bold ? "\\fB" : is_placeholder(word) ? "\\fI" : "";
    text += font + man_text(word) + (*font == 0 ? "" : "\\fR");
    if (end < line.size()) text += line[end];
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return text;
}

// A line of a manual's source that would begin with an order is text.
std::string source_line(const std::string& text) {
  const bool is_order = text.starts_with('.') || text.starts_with('\'');
  return (is_order ? "\\&" : "") + text + "\n";
}

std::string item_source(const help_item& item) {
  auto text = ".TP\n" + source_line(marked(item.term));
  bool is_example = false;
  for (std::size_t i = 0; i < item.lines.size(); ++i) {
    // An example behind a sentence is a line of its own.
    const bool may_be = i > 0 && (is_example || item.lines[i - 1].ends_with('.'));
    is_example = may_be && item.lines[i].starts_with("--");
    text += (is_example ? ".br\n" : "") + source_line(man_text(item.lines[i]));
  }
  return text;
}

std::string verbatim_source(const std::vector<std::string>& lines) {
  std::string text = ".PP\n.nf\n";
  for (const auto& line : lines) text += source_line(man_text(line));
  return text + ".fi\n";
}

bool is_of_options(const help_part& part) {
  return part.type == kind::items && !part.items.empty() &&
         part.items.front().term.starts_with('-');
}

// Sections are in the order of man-pages(7), and have the parts in the order of the text.
class command_source {
 public:
  void add(const help_part& part) {
    if (part.type == kind::title) return;
    if (part.type == kind::usage) return add_usage(part);
    const bool is_status =
        part.type == kind::paragraph && part.lines.front().starts_with("Exit code");
    if (is_of_options(part)) has_options_ = true;
    auto& section = is_of_options(part) ? options_
                    : is_status         ? exit_status_
                    : has_options_      ? notes_
                                        : description_;
    if (part.type == kind::verbatim) section += verbatim_source(part.lines);
    for (const auto& item : part.items) section += item_source(item);
    if (part.type != kind::paragraph) return;
    if (!section.empty()) section += ".PP\n";
    for (const auto& line : part.lines) section += source_line(man_text(line));
  }

  std::string text() const {
    std::string all;
    const std::pair<const char*, const std::string*> sections[] = {
        {"SYNOPSIS", &synopsis_},
        {"DESCRIPTION", &description_},
        {"OPTIONS", &options_},
        {"NOTES", &notes_},
        {"EXIT STATUS", &exit_status_}};
    for (const auto& [name, content] : sections)
      if (!content->empty()) all += ".SH " + std::string(name) + "\n" + *content;
    return all;
  }

 private:
  void add_usage(const help_part& part) {
    synopsis_ += synopsis_.empty() ? ".nf\n" : ".PP\n.nf\n";
    for (const auto& line : part.lines) synopsis_ += source_line(marked(line));
    synopsis_ += ".fi\n";
  }

  std::string synopsis_;
  std::string description_;
  std::string options_;
  std::string notes_;
  std::string exit_status_;
  bool has_options_ = false;
};

std::string manual_of(const std::string& name, const char* section) {
  return "\\fB" + man_text(name) + "\\fR(" + section + ")";
}

std::string first_sentence(const std::vector<help_part>& parts) {
  for (const auto& part : parts) {
    if (part.type != kind::paragraph) continue;
    std::string text;
    for (const auto& line : part.lines) text += (text.empty() ? "" : " ") + line;
    return text.substr(0, text.find_first_of(".:"));
  }
  return "a command of tidegate";
}

std::string about(const std::vector<command_page>& pages, const command_page& page,
                  const std::vector<help_part>& parts) {
  if (parts.front().type == kind::title)
    return parts.front().lines.front().substr(parts.front().lines.front().find(" - ") + 3);
  const auto text = about_command(pages, page.name);
  return text.empty() ? first_sentence(parts) : text;
}

}  // namespace

std::string man_text(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    switch (c) {
      case '\\':
        shown += "\\e";
        break;
      case '-':
        shown += "\\-";
        break;
      case '\'':
        shown += "\\(aq";
        break;
      case '`':
        shown += "\\(ga";
        break;
      case '^':
        shown += "\\(ha";
        break;
      case '~':
        shown += "\\(ti";
        break;
      default:
        shown += c;
    }
  }
  return shown;
}

std::string man_name(const command_page& page) {
  auto name = page.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name.empty() ? "tidegate" : "tidegate-" + name;
}

std::string command_manual(const std::vector<command_page>& pages, const command_page& page,
                           const manual_edition& edition) {
  const auto parts = parts_of(page.help);
  command_source source;
  for (const auto& part : parts) source.add(part);
  std::string others = page.name.empty() ? "" : manual_of("tidegate", "1") + ",\n";
  for (const auto& each : pages) {
    const bool is_below = page.name.empty() ? each.name.find(' ') == std::string::npos
                                            : each.name.starts_with(page.name + " ");
    if (!each.name.empty() && is_below) others += manual_of(man_name(each), "1") + ",\n";
  }
  return heading(man_name(page), "1", edition, about(pages, page, parts)) + source.text() +
         ".SH SEE ALSO\n" + others + manual_of("tidegate.yaml", "5") + "\n";
}

std::string keys_manual(const manual_edition& edition, key_table table) {
  auto text = heading("tidegate.yaml", "5", edition, "a cluster of Tidegate and its jobs");
  text += ".SH DESCRIPTION\nA file that\n" + manual_of("tidegate-launch", "1") +
          "\nruns. Its keys are joined by dots here, and \\fB*\\fR is a name that you choose.\n"
          "\\fBtidegate help yaml\\fR \\fIKEY\\fR shows one of them.\n.SH KEYS\n";
  for (const auto& key : table) {
    text += ".TP\n\\fB" + man_text(key.path) + "\\fR\n" + source_line(man_text(key.doc)) +
            ".br\n" +
            source_line(man_text(key.type) + "; default: " + man_text(key.preset) +
                        "; allowed: " + man_text(key.allowed));
  }
  return text + ".SH SEE ALSO\n" + manual_of("tidegate", "1") + ",\n" +
         manual_of("tidegate-launch", "1") + ",\n" + manual_of("tidegate-validate", "1") + "\n";
}

}  // namespace tidegate::launch
