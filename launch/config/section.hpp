// One map of the YAML tree while it is read into a spec: typed access to its keys, every
// failure noted with its place and what the key table allows. Lives no longer than tree and
// problems. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "launch/config/yaml_keys.hpp"
#include "launch/config/yaml_tree.hpp"

namespace tidegate::launch {

template <class Enum>
using choices = std::span<const std::pair<std::string_view, Enum>>;

class section {
 public:
  // `pattern` is the path in the key table, `shown` that in the file ("jobs.*" and "jobs.mlp").
  // A null node is a section without keys: required ones are missed at `where`.
  section(const yaml_node* node, place where, std::string pattern, std::string shown,
          problems& out, key_table table = known_keys());

  // Readers of one key. They leave `into` alone when the key is absent or wrong; true: it was
  // read.
  bool number(std::string_view key, std::uint64_t& into, std::uint64_t least,
              std::uint64_t most) const;
  bool bytes(std::string_view key, std::uint64_t& into, std::uint64_t least, std::uint64_t most,
             std::uint64_t multiple) const;
  bool duration_ms(std::string_view key, std::uint64_t& into, std::uint64_t least,
                   std::uint64_t most) const;
  bool real(std::string_view key, float& into,
            const std::function<bool(float)>& is_allowed) const;
  bool text(std::string_view key, std::string& into,
            const std::function<bool(std::string_view)>& is_allowed) const;
  template <class Enum>
  bool choice(std::string_view key, Enum& into, choices<Enum> known) const {
    std::string word;
    const auto is_known = [&](std::string_view w) { return index_of(known, w) < known.size(); };
    if (!text(key, word, is_known)) return false;
    into = known[index_of(known, word)].second;
    return true;
  }

  section child(std::string_view key) const;  // of a map-valued key; absent: an empty section
  // The value of a key; null when absent.
  const yaml_node* get(std::string_view key) const noexcept;
  // Notes a missing required key; true when it is there.
  bool require(std::string_view key) const;
  // Notes "<path>: <wrong>; allowed: <from the table>" at the key's value.
  void wrong(std::string_view key, const std::string& subject) const;
  void note(const place& where, std::string subject) const {
    out_->add(where, std::move(subject));
  }

  const yaml_node* node() const noexcept { return node_; }
  const place& where() const noexcept { return where_; }
  const std::string& shown() const noexcept { return shown_; }
  const std::string& pattern() const noexcept { return pattern_; }
  problems& out() const noexcept { return *out_; }

 private:
  template <class Enum>
  static std::size_t index_of(choices<Enum> known, std::string_view word) {
    std::size_t i = 0;
    while (i < known.size() && known[i].first != word) ++i;
    return i;
  }
  const yaml_node* scalar(std::string_view key) const;
  bool range(std::string_view key, const std::string& text, std::uint64_t n,
             std::uint64_t least, std::uint64_t most) const;

  const yaml_node* node_;
  place where_;
  std::string pattern_;
  std::string shown_;
  problems* out_;
  key_table table_;
};

// 1 to 64 of A-Z a-z 0-9 _ -: names that are part of file names.
bool is_plain_name(std::string_view name) noexcept;

}  // namespace tidegate::launch
