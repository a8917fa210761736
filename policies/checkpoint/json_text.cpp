#include "policies/checkpoint/json_text.hpp"

#include <cmath>
#include <set>
#include <vector>

namespace tidegate::policies {

using nlohmann::json;
using runtime::errc;

namespace {

// Looks at a text without keeping values. A pass of its own: the library's parser with a
// callback looks at all members of an object that are there whenever another one ends, which
// takes minutes for the header of a file of 100,000 tensors.
class shape_check final : public nlohmann::json_sax<json> {
 public:
  explicit shape_check(std::size_t depth_max) : depth_max_(depth_max) {}
  const std::string& wrong() const noexcept { return wrong_; }

  bool null() override { return within_depth(); }
  bool boolean(bool) override { return within_depth(); }
  bool number_integer(number_integer_t) override { return within_depth(); }
  bool number_unsigned(number_unsigned_t) override { return within_depth(); }
  bool number_float(number_float_t, const string_t&) override { return within_depth(); }
  bool string(string_t&) override { return within_depth(); }
  bool binary(binary_t&) override { return within_depth(); }
  bool start_object(std::size_t) override { return begin(); }
  bool start_array(std::size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    if (!within_depth()) return false;
    if (keys_.back().insert(name).second) return true;
    wrong_ = "has the key '" + name + "' twice";
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;  // the parser that keeps values says so
  }

 private:
  bool within_depth() {
    if (keys_.size() > depth_max_)
      wrong_ = "goes deeper than " + std::to_string(depth_max_) + " levels";
    return wrong_.empty();
  }
  bool begin() {
    if (!within_depth()) return false;
    keys_.emplace_back();
    return true;
  }
  bool end() {
    keys_.pop_back();
    return true;
  }

  std::size_t depth_max_;
  std::string wrong_;
  std::vector<std::set<std::string>> keys_;  // of what is open; an array has none
};

}  // namespace

runtime::expected<json> parse_json_object(std::string_view text, const std::string& subject,
                                          int depth_max) {
  shape_check check(static_cast<std::size_t>(depth_max));
  json::sax_parse(text.begin(), text.end(), &check);
  if (!check.wrong().empty())
    return runtime::fail(errc::corrupt, subject + ": " + check.wrong());
  auto parsed = json::parse(text.begin(), text.end(), nullptr, false);
  if (!parsed.is_object())
    return runtime::fail(errc::corrupt, subject + ": is no JSON object, or not all of one");
  return parsed;
}

runtime::expected<std::string> json_line(const json& value) {
  try {
    return value.dump();
  } catch (const json::exception&) {
    return runtime::fail(errc::invalid_argument, "a name that is not UTF-8 cannot be written");
  }
}

json_fields::json_fields(const json& object, std::string subject, runtime::status& problem)
    : object_(object), subject_(std::move(subject)), problem_(problem) {
  if (!object_.is_object() && problem_.ok())
    problem_ = {errc::corrupt, subject_ + ": is no JSON object"};
}

const json* json_fields::find(const char* key) {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  if (found != object_.end()) return &*found;
  wrong(key, "is missing");
  return nullptr;
}

void json_fields::wrong(const char* key, const std::string& why) {
  if (problem_.ok()) problem_ = {errc::corrupt, subject_ + ": '" + key + "' " + why};
}

std::uint64_t json_fields::number(const char* key, std::uint64_t most) {
  const auto* found = find(key);
  if (found == nullptr) return 0;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() <= most)
    return found->get<std::uint64_t>();
  wrong(key, "is no whole number of at most " + std::to_string(most));
  return 0;
}

double json_fields::real(const char* key) {
  const auto* found = find(key);
  if (found == nullptr) return 0;
  if (found->is_number() && std::isfinite(found->get<double>())) return found->get<double>();
  wrong(key, "is no number");
  return 0;
}

std::string json_fields::text(const char* key, std::size_t bytes_max) {
  const auto* found = find(key);
  if (found == nullptr) return {};
  if (found->is_string() && found->get_ref<const std::string&>().size() <= bytes_max)
    return found->get<std::string>();
  wrong(key, "is no text of at most " + std::to_string(bytes_max) + " bytes");
  return {};
}

const json& json_fields::array(const char* key) {
  static const json none = json::array();
  const auto* found = find(key);
  if (found != nullptr && found->is_array()) return *found;
  if (found != nullptr) wrong(key, "is no array");
  return none;
}

const json& json_fields::object(const char* key) {
  static const json none = json::object();
  const auto* found = find(key);
  if (found != nullptr && found->is_object()) return *found;
  if (found != nullptr) wrong(key, "is no object");
  return none;
}

bool is_row(const json& row, std::size_t size, std::uint64_t most) {
  if (!row.is_array() || row.size() != size) return false;
  for (const auto& entry : row)
    if (!entry.is_number_unsigned() || entry.get<std::uint64_t>() > most) return false;
  return true;
}

}  // namespace tidegate::policies
