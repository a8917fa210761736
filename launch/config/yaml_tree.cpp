#include "launch/config/yaml_tree.hpp"

#include <utility>

#include <yaml-cpp/yaml.h>

#include "launch/config/yaml_mistakes.hpp"

namespace tidegate::launch {

namespace {

// Far above any real file; they stop aliases that contain themselves or multiply.
constexpr int depth_max = 32;
constexpr std::size_t nodes_max = 200'000;

class tree_builder {
 public:
  tree_builder(const std::string& source, bool is_set, problems& out)
      : source_(source), is_set_(is_set), out_(out) {}

  place at(const YAML::Mark& mark) const {
    if (is_set_) return {.source = source_, .line = 0, .column = 0};
    return {.source = source_, .line = mark.line + 1, .column = mark.column + 1};
  }

  place at(const yaml_mistake& mistake) const {
    if (is_set_) return {.source = source_, .line = 0, .column = 0};
    return {.source = source_, .line = mistake.line, .column = mistake.column};
  }

  yaml_node build(const YAML::Node& from, const place& where, int depth) {
    yaml_node node;
    node.where = where;
    if (too_large(where, depth)) return node;
    if (from.IsScalar()) {
      node.type = yaml_node::kind::scalar;
      node.text = from.Scalar();
      node.quoted = from.Tag() == "!";
    } else if (from.IsSequence()) {
      node.type = yaml_node::kind::list;
      for (const auto& item : from) {
        node.items.push_back(build(item, at(item.Mark()), depth + 1));
      }
    } else if (from.IsMap()) {
      node.type = yaml_node::kind::map;
      for (const auto& pair : from) add_entry(node, pair.first, pair.second, depth);
    }
    return node;
  }

 private:
  bool too_large(const place& where, int depth) {
    if (depth <= depth_max && ++nodes_ <= nodes_max) return false;
    if (!reported_) {
      out_.add(where, "too deep or too large (an alias that contains itself?); allowed: " +
                          std::to_string(depth_max) + " levels, " + std::to_string(nodes_max) +
                          " values");
    }
    reported_ = true;
    return true;
  }

  void add_entry(yaml_node& node, const YAML::Node& key, const YAML::Node& value, int depth) {
    const auto key_place = at(key.Mark());
    if (!key.IsScalar()) {
      out_.add(key_place, "a key must be plain text");
      return;
    }
    const auto& name = key.Scalar();
    if (const auto* first = node.find(name)) {
      out_.add(key_place, "key '" + name + "' is given twice, first at " +
                              first->where.to_string() + "; allowed: once");
      return;
    }
    // yaml-cpp gives a missing value the place of the token after it.
    const auto value_place = value.IsNull() ? key_place : at(value.Mark());
    node.add(name, key_place, build(value, value_place, depth + 1));
  }

  const std::string& source_;
  bool is_set_;
  problems& out_;
  std::size_t nodes_ = 0;
  bool reported_ = false;
};

// The first line that starts with blanks of which one is a tab; false without such a line.
bool find_leading_tab(const std::string& text, YAML::Mark& mark) {
  int line = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const auto stop = text.find_first_not_of(" \t", begin);
    const auto tab = text.find('\t', begin);
    if (stop != std::string::npos && tab < stop && text[stop] != '\n') {
      mark.line = line;
      mark.column = static_cast<int>(tab - begin);
      return true;
    }
    const auto end = text.find('\n', begin);
    if (end == std::string::npos) return false;
    begin = end + 1;
    ++line;
  }
  return false;
}

}  // namespace

yaml_entry& yaml_node::add(std::string key, place of_key, yaml_node value) {
  index.emplace(key, entries.size());
  entries.push_back({std::move(key), std::move(of_key), std::move(value)});
  return entries.back();
}

const yaml_entry* yaml_node::find(std::string_view key) const noexcept {
  const auto at = index.find(std::string(key));
  return at == index.end() ? nullptr : &entries[at->second];
}

yaml_entry* yaml_node::find(std::string_view key) noexcept {
  return const_cast<yaml_entry*>(std::as_const(*this).find(key));
}

std::string_view describe(const yaml_node& node) noexcept {
  switch (node.type) {
    case yaml_node::kind::null:
      return "nothing";
    case yaml_node::kind::scalar:
      return "a plain value";
    case yaml_node::kind::list:
      return "a list";
    case yaml_node::kind::map:
      return "a map";
  }
  return "nothing";
}

yaml_node parse_yaml(const std::string& text, const std::string& source, bool is_set,
                     problems& out) {
  tree_builder builder(source, is_set, out);
  YAML::Mark start;
  start.line = start.column = 0;
  try {
    const auto documents = YAML::LoadAll(text);
    if (documents.empty()) {
      yaml_node empty;
      empty.where = builder.at(start);
      return empty;
    }
    if (documents.size() > 1) {
      const auto why = ends_early(text, documents[1].Mark().line + 1);
      out.add(builder.at(documents[1].Mark()),
              why.empty() ? "a second YAML document starts here; allowed: one per file"
                          : "not valid YAML: " + why);
    }
    if (const auto quote = find_open_quote(text))
      out.add(builder.at(*quote), "not valid YAML: " + quote->subject);
    return builder.build(documents[0], builder.at(documents[0].Mark()), 0);
  } catch (const YAML::Exception& e) {
    YAML::Mark mark = e.mark.is_null() ? start : e.mark;
    auto where = builder.at(mark);
    std::string subject = e.msg;
    if (!is_set && find_leading_tab(text, mark)) {
      where = builder.at(mark);
      subject = "a tab in the indentation; allowed: spaces";
    } else if (const auto mistake = find_mistake(text, mark.line + 1)) {
      where = builder.at(*mistake);
      subject = mistake->subject;
    }
    out.add(where, "not valid YAML: " + subject);
  }
  return {};
}

}  // namespace tidegate::launch
