#include "actors/store/worker_rows.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/limits.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::status;

namespace {

// Rows ahead of the one that is copied: they come from anywhere in the table.
constexpr std::size_t copies_ahead = 12;

// Of a page, of which there is one of each part at a time.
std::uint64_t page_bytes(std::uint32_t parts) {
  constexpr std::uint64_t all = 64U << 20U;
  constexpr std::uint64_t least = 16U << 10U;
  constexpr std::uint64_t most = 1U << 20U;
  return std::clamp(all / parts, least, most);
}

}  // namespace

worker_rows::worker_rows(const policies::table_grant& grant, std::uint64_t seed,
                         std::uint64_t token)
    : name_(grant.name),
      dim_(grant.rows.dim),
      reduce_(grant.reduce),
      parts_(static_cast<std::uint32_t>(grant.elements)),
      key_(runtime::stream_key(seed, grant.name)),
      token_(token),
      page_rows_(static_cast<std::uint32_t>(
          std::max<std::uint64_t>(1, page_bytes(parts_) / (dim_ * sizeof(float))))),
      requests_(parts_),
      answers_(parts_),
      places_(parts_),
      ahead_(parts_, dim_) {
  for (auto& half : batches_) half.resize(parts_);
}

status worker_rows::check_size(const char* doing, std::uint64_t bytes, std::size_t ids) const {
  if (bytes <= runtime::limits::chunk_bytes_max) return {};
  return {errc::over_limit,
          std::string(doing) + " of table '" + name_ + "' with " + std::to_string(ids) +
              " ids: a part of the table would take " + std::to_string(bytes) +
              " bytes at once, and takes " + std::to_string(runtime::limits::chunk_bytes_max) +
              " at most; use fewer ids at a time, or give the table more parts"};
}

runtime::expected<worker_rows::part_list> worker_rows::write_push(
    std::uint32_t half, std::span<const std::uint64_t> ids, std::span<const float> gradients) {
  sorted_.begin(ids, key_, parts_);
  if (reduce_ == runtime::reduction::plugin && sorted_.rows() < ids.size())
    return runtime::fail(
        errc::invalid_argument,
        "push to table '" + name_ +
            "': an id comes more than once, and its gradients are combined by a plugin, which "
            "workers do not have; allowed: each id once, with gradients combined before");
  part_list touched;
  for (std::uint32_t part = 0; part < parts_; ++part) {
    const auto rows = sorted_.rows_of(part);
    if (rows == 0) continue;
    const auto bytes =
        runtime::batch_front_bytes_max(rows) + runtime::row_values_bytes(rows, dim_);
    if (auto fits = check_size("push", bytes, ids.size()); !fits.ok())
      return runtime::fail(std::move(fits));
    touched.push_back(part);
  }
  for (const auto part : touched) {
    const auto memory = batches_[half][part].begin(sorted_.rows_of(part), dim_);
    sorted_.write(part, gradients, dim_, memory, reduce_);
  }
  return touched;
}

namespace {

std::uint64_t bytes_of_all(std::uint64_t rows, std::uint32_t dim) {
  return runtime::row_changes_bytes(rows, rows, dim);
}

}  // namespace

runtime::expected<worker_rows::part_list> worker_rows::parts_of(
    const runtime::batch_writer& sorted, const char* doing, std::size_t ids,
    std::uint64_t (*answer_bytes)(std::uint64_t rows, std::uint32_t dim)) const {
  part_list asked;
  for (std::uint32_t part = 0; part < parts_; ++part) {
    const auto rows = sorted.rows_of(part);
    if (rows == 0) continue;
    const auto bytes = std::max({answer_bytes(rows, dim_), runtime::gather_request_bytes(rows),
                                 runtime::coded_request_bytes_max(rows)});
    if (auto fits = check_size(doing, bytes, ids); !fits.ok())
      return runtime::fail(std::move(fits));
    asked.push_back(part);
  }
  return asked;
}

runtime::expected<worker_rows::part_list> worker_rows::write_gather(
    std::span<const std::uint64_t> ids) {
  if (sorted_ahead_.is_of(ids)) std::swap(sorted_, sorted_ahead_);
  sorted_.begin(ids, key_, parts_);
  auto asked = parts_of(sorted_, "pull", ids.size(), runtime::gather_answer_bytes);
  if (!asked) return asked;
  for (const auto part : *asked) {
    const auto rows = sorted_.rows_of(part);
    sorted_.write_ids(part, requests_[part].begin(rows));
    auto& answer = answers_[part];
    answer.bytes = answer.memory.resize(bytes_of_all(rows, dim_));
    answer.is_whole_part = false;
    places_[part].state = reading::waits;
  }
  return asked;
}

runtime::expected<worker_rows::part_list> worker_rows::write_ahead(
    std::span<const std::uint64_t> ids) {
  sorted_ahead_.begin(ids, key_, parts_);
  auto asked = parts_of(sorted_ahead_, "prefetch", ids.size(), bytes_of_all);
  if (!asked) return asked;
  std::erase_if(*asked, [&](std::uint32_t part) {
    return places_[part].is_leased && places_[part].state == reading::is_done;
  });
  ahead_.ask(sorted_ahead_, *asked);
  return asked;
}

std::optional<policies::sent_list> worker_rows::pulled_list(pull_kind kind,
                                                            std::uint32_t part) {
  if (kind == pull_kind::ahead) return ahead_.list(part, token_);
  if (answers_[part].is_whole_part) return std::nullopt;
  return requests_[part].list(token_);
}

sent_payload worker_rows::request(pull_kind kind, std::uint32_t part,
                                  std::optional<std::uint32_t> moves, bool names_list) {
  const bool is_plain = sends_plain_ids(moves.has_value());
  if (kind == pull_kind::ahead) return ahead_.request(part, is_plain, names_list);
  auto& asked = requests_[part];
  if (answers_[part].is_whole_part) return {.bytes = asked.plain()};
  auto& place = places_[part];
  place.moves = moves;
  place.may_lease = moves && moves != place.unmappable && place.state == reading::waits;
  const auto mark = place.may_lease || place.state != reading::waits
                        ? std::nullopt
                        : ahead_.mark_of(part, asked.ids());
  place.asks_changes = mark.has_value();
  const auto request = is_plain ? asked.plain() : asked.coded(names_list);
  mark ? runtime::ask_changes(request, *mark) : runtime::ask_values(request, place.may_lease);
  return {.bytes = request, .is_coded = !is_plain};
}

worker_rows::outcome worker_rows::scatter(std::span<float> out) {
  outcome result;
  found_.assign(out.size() / dim_, nullptr);
  for (std::uint32_t part = 0; part < parts_; ++part) {
    auto& place = places_[part];
    if (sorted_.rows_of(part) == 0 || place.state == reading::is_done) continue;
    if (place.is_leased)
      place.state = find_in_place(part, out, result) ? reading::is_found : reading::was_late;
    else
      place.state = scatter_answer(part, out) ? reading::is_done : reading::was_late;
  }
  copy_found(out);
  for (std::uint32_t part = 0; part < parts_; ++part) {
    auto& place = places_[part];
    if (sorted_.rows_of(part) == 0) continue;
    if (place.state == reading::is_found) {
      place.state = place.rows.still_holds() ? reading::is_done : reading::was_late;
      place.rows.release_pages();
    }
    if (place.state == reading::was_late) result.unread.push_back(part);
  }
  return result;
}

bool worker_rows::scatter_answer(std::uint32_t part, std::span<float> out) {
  const auto& answer = answers_[part];
  const auto rows = sorted_.rows_of(part);
  if (!places_[part].asks_changes) {
    const auto* values = reinterpret_cast<const float*>(answer.bytes.data());
    sorted_.scatter(part, {values, std::size_t{rows} * dim_}, dim_, out);
    return true;
  }
  const auto changes = runtime::read_row_changes(answer.bytes.first(answer.filled), rows, dim_);
  if (!changes) return false;
  sorted_.scatter(part, ahead_.update(part, *changes), dim_, out);
  return true;
}

bool worker_rows::find_in_place(std::uint32_t part, std::span<float> out, outcome& result) {
  auto& place = places_[part];
  const auto lease = runtime::decode_lease(place.lease);
  const auto opened = lease ? place.rows.open(*lease, dim_) : lease.error();
  if (!opened.ok()) {
    place.unmappable = place.moves;
    result.unmapped = opened;
    return false;
  }
  place.rows.find(requests_[part].ids(), sorted_, part, found_, out);
  return true;
}

// In the order of the caller's ids, whatever their parts: what is written lies side by side.
void worker_rows::copy_found(std::span<float> out) const {
  for (std::size_t i = 0; i < found_.size(); ++i) {
    const auto ahead = i + copies_ahead;
    if (ahead < found_.size() && found_[ahead] != nullptr)
      runtime::prefetch(found_[ahead], dim_);
    if (found_[i] != nullptr) std::copy_n(found_[i], dim_, out.data() + i * dim_);
  }
}

void worker_rows::let_go() {
  for (auto& place : places_) place.rows.close();
}

void worker_rows::write_scan(std::uint32_t part, std::optional<std::uint64_t> after) {
  requests_[part].write_scan(page_rows_, after);
  auto& answer = answers_[part];
  answer.bytes = answer.memory.resize(runtime::row_batch_bytes(page_rows_, dim_));
  answer.is_whole_part = true;
}

void worker_rows::write_call(std::uint32_t part, std::span<const std::byte> call) {
  requests_[part].write_call(call);
  auto& answer = answers_[part];
  answer.bytes = answer.memory.resize(runtime::call_answer_bytes);
  answer.is_whole_part = true;
}

std::span<const std::byte> worker_rows::results(std::uint32_t part) const {
  const auto& answer = answers_[part];
  if (answer.filled != runtime::call_answer_bytes) return {};
  return answer.bytes.first(runtime::call_payload_bytes);
}

runtime::expected<runtime::row_batch> worker_rows::page(std::uint32_t part) const {
  const auto& answer = answers_[part];
  return runtime::read_row_batch(answer.bytes.first(answer.filled), dim_);
}

std::span<std::byte> worker_rows::room(pull_kind kind, std::uint32_t part,
                                       std::uint64_t bytes) {
  if (kind == pull_kind::ahead) return ahead_.room(part, bytes);
  auto& answer = answers_[part];
  auto& place = places_[part];
  const auto values =
      answer.is_whole_part ? 0 : runtime::gather_answer_bytes(sorted_.rows_of(part), dim_);
  place.is_leased = place.may_lease && bytes == place.lease.size() && bytes < values;
  if (place.is_leased) return place.lease;
  const bool may_be_shorter = answer.is_whole_part || place.asks_changes;
  const bool fits = may_be_shorter ? bytes <= answer.bytes.size() : bytes == values;
  if (!fits) return {};
  answer.filled = bytes;
  return answer.bytes.first(bytes);
}

}  // namespace tidegate::actors
