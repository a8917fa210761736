#include "policies/checkpoint/record_fields.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <utility>

#include "policies/checkpoint/optimizer_record.hpp"
#include "policies/model/row_rules.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

using nlohmann::json;
using runtime::errc;
using runtime::journal_entry;
using runtime::status;

namespace {

constexpr std::size_t text_bytes_max = 64 * 1024;

std::string narrow(std::string_view text, status& problem) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes.push_back(text[i]);
      continue;
    }
    const bool two = (first == 0xc2 || first == 0xc3) && i + 1 < text.size();
    if (!two) {
      if (problem.ok()) problem = {errc::corrupt, "a text has a character beyond a byte"};
      return {};
    }
    const auto second = static_cast<unsigned char>(text[++i]);
    bytes.push_back(static_cast<char>((first & 0x03) << 6 | (second & 0x3f)));
  }
  return bytes;
}

}  // namespace

std::string wide(std::string_view bytes) {
  std::string text;
  for (const char word : bytes) {
    const auto byte = static_cast<unsigned char>(word);
    if (byte < 0x80) {
      text.push_back(word);
    } else {
      text.push_back(static_cast<char>(0xc0 | byte >> 6));
      text.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
    }
  }
  return text;
}

std::vector<std::uint64_t> row(json_fields& fields, const char* key, std::size_t size,
                               std::uint64_t most, status& problem) {
  const auto& found = fields.array(key);
  if (is_row(found, size, most)) return found.get<std::vector<std::uint64_t>>();
  if (problem.ok()) problem = {errc::corrupt, "'" + std::string(key) + "' is no such row"};
  return std::vector<std::uint64_t>(size);
}

std::string decode_text(json_fields& fields, const char* key, status& problem) {
  return narrow(fields.text(key, text_bytes_max), problem);
}

std::uint32_t number32(json_fields& fields, const char* key) {
  return static_cast<std::uint32_t>(fields.number(key, any_32));
}

checkpoint_id decode_base(json_fields& fields, checkpoint_id of, const std::string& subject,
                          status& problem) {
  if (!fields.has("base")) return {};
  const auto text = fields.text("base", 64);
  if (text.empty()) return {};
  const auto base = parse_checkpoint_id(text);
  if (base && base->number > 0 && *base < of) return *base;
  if (problem.ok())
    problem = {errc::corrupt, subject + ": 'base' names no checkpoint before this one"};
  return {};
}

// The numbers of a table, and then those of each segment.
json encode_rows(const rows_spec& rows) {
  if (rows.dim == 0) return json::array();
  json all = {rows.dim,
              rows.capacity,
              static_cast<std::uint32_t>(rows.init.kind),
              std::bit_cast<std::uint32_t>(rows.init.value),
              rows.lifetime.admit_count,
              rows.lifetime.candidates,
              rows.lifetime.unseen,
              rows.lifetime.rows,
              static_cast<std::uint32_t>(rows.lifetime.by),
              rows.memory};
  for (const auto& segment : rows.segments) {
    all.push_back(segment.columns);
    all.push_back(static_cast<std::uint32_t>(segment.init.kind));
    all.push_back(std::bit_cast<std::uint32_t>(segment.init.value));
    for (const auto number : numbers_of(segment.optimizer)) all.push_back(number);
  }
  return all;
}

namespace {

constexpr std::size_t rows_numbers = 10;
constexpr std::size_t segment_numbers = 3 + optimizer_numbers;

// How many numbers of a record are the table's, and how many those of each segment behind them.
struct record_shape {
  std::size_t table = 0;  // 0: of no record that there can be
  std::size_t segment = segment_numbers;
};

// Records before rules of plugins have 18 numbers of the optimizer of a segment. Those before
// tables larger than memory have 9 of the table, those before reductions one less of a segment,
// and those before lifetimes of rows 4 and no segments. All differ in size.
record_shape shape_of(std::size_t size) {
  constexpr std::size_t before_rules = 3 + 18;
  if (size == 4) return {.table = size};
  for (const auto& [own, each] :
       {record_shape{rows_numbers, segment_numbers}, record_shape{rows_numbers, before_rules},
        record_shape{rows_numbers - 1, before_rules},
        record_shape{rows_numbers - 1, before_rules - 1}})
    if (size >= own && (size - own) % each == 0 &&
        (size - own) / each <= runtime::limits::row_segments_max)
      return {.table = own, .segment = each};
  return {};
}

bool is_init(std::uint64_t kind, std::uint64_t value) {
  return kind < 2 && value <= any_32;
}

init_spec init_of(std::uint64_t kind, std::uint64_t value) {
  return {.kind = init_kind{static_cast<std::uint8_t>(kind)},
          .value = std::bit_cast<float>(static_cast<std::uint32_t>(value))};
}

// Those after the numbers of the table, `each` of a segment.
std::vector<row_segment_spec> segments_of(std::span<const std::uint64_t> numbers,
                                          std::size_t each, std::uint32_t dim,
                                          status& problem) {
  std::vector<row_segment_spec> segments;
  std::uint64_t columns = 0;
  for (; !numbers.empty(); numbers = numbers.subspan(each)) {
    std::array<std::uint64_t, optimizer_numbers> of_optimizer{};
    std::copy_n(numbers.begin() + 3, each - 3, of_optimizer.begin());
    if (numbers[0] == 0 || numbers[0] > dim || !is_init(numbers[1], numbers[2]) ||
        *std::max_element(of_optimizer.begin(), of_optimizer.end()) > any_32)
      break;
    const auto optimizer = optimizer_of(of_optimizer, problem);
    const auto init = init_of(numbers[1], numbers[2]);
    if (!check_columns(optimizer, init).ok()) break;
    segments.push_back({.columns = static_cast<std::uint32_t>(numbers[0]),
                        .optimizer = optimizer,
                        .init = init});
    columns += numbers[0];
  }
  const bool are_whole = numbers.empty() && (segments.empty() || columns == dim);
  if (!are_whole && problem.ok())
    problem = {errc::corrupt, "'rows' have segments that they cannot have"};
  return segments;
}

}  // namespace

rows_spec decode_rows(json_fields& fields, status& problem) {
  if (!fields.has("rows") || fields.array("rows").empty()) return {};
  const auto size = fields.array("rows").size();
  const auto [own, each] = shape_of(size);
  const auto all = row(fields, "rows", own > 0 ? size : rows_numbers, any_64, problem);
  const auto of_table = std::span(all).first(own > 0 ? own : rows_numbers);
  std::array<std::uint64_t, rows_numbers> numbers{};
  numbers[4] = 1;
  std::copy(of_table.begin(), of_table.end(), numbers.begin());
  if (numbers[0] == 0 || numbers[0] > runtime::limits::row_dim_max || numbers[1] == 0 ||
      numbers[1] > runtime::limits::table_rows_max || !is_init(numbers[2], numbers[3]) ||
      numbers[4] > any_32 || numbers[8] >= std::size(runtime::eviction_orders) ||
      numbers[9] > runtime::limits::row_memory_max) {
    if (problem.ok()) problem = {errc::corrupt, "'rows' are of no table that there can be"};
    return {};
  }
  const auto dim = static_cast<std::uint32_t>(numbers[0]);
  const rows_spec rows = {
      .dim = dim,
      .capacity = numbers[1],
      .init = init_of(numbers[2], numbers[3]),
      .lifetime = {.admit_count = static_cast<std::uint32_t>(numbers[4]),
                   .candidates = numbers[5],
                   .unseen = numbers[6],
                   .rows = numbers[7],
                   .by = runtime::eviction_orders[numbers[8]]},
      .segments = segments_of(std::span(all).subspan(of_table.size()), each, dim, problem),
      .memory = numbers[9]};
  if (is_valid(rows.lifetime, rows.capacity)) return rows;
  if (problem.ok()) problem = {errc::corrupt, "'rows' come and go as in no table"};
  return {};
}

journal_entry entry(std::string key, const json& value) {
  return {std::move(key), value.dump()};
}

}  // namespace tidegate::policies
