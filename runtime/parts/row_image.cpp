#include "runtime/parts/row_image.hpp"

#include <cstring>
#include <type_traits>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/batches/row_batch.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t alignment = 8;
constexpr std::uint64_t kept_max = 16;

struct head_wire {
  std::uint32_t dim = 0;
  std::uint32_t state_floats = 0;
  std::uint64_t rows = 0;
  std::uint64_t kept = 0;
  std::uint64_t candidates = 0;
  std::uint64_t clock = 0;
};

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class writer {
 public:
  explicit writer(std::byte* at) : at_(at) {}
  // Returns where it lies.
  template <class T>
  std::span<T> put(const T* data, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::span written(reinterpret_cast<T*>(at_), count);
    const auto bytes = count * sizeof(T);
    const auto room = aligned(bytes);
    if (bytes > 0) std::memcpy(at_, data, bytes);
    std::memset(at_ + bytes, 0, room - bytes);
    at_ += room;
    return written;
  }
  const std::byte* at() const { return at_; }

 private:
  std::byte* at_;
};

class reader {
 public:
  explicit reader(std::span<const std::byte> left) : left_(left) {}
  // Returns false if the bytes end before.
  template <class T>
  bool take(std::vector<T>& into, std::uint64_t count) {
    if (count > left_.size() / sizeof(T)) return false;
    const auto room = aligned(count * sizeof(T));
    if (room > left_.size()) return false;
    into.resize(count);
    if (count > 0) std::memcpy(into.data(), left_.data(), count * sizeof(T));
    left_ = left_.subspan(room);
    return true;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
};

std::uint64_t delta_bytes(const row_delta& delta) noexcept {
  return sizeof(std::uint64_t) + delta.ids.size() * sizeof(std::uint64_t) +
         aligned(delta.existed.size()) + aligned(delta.values.size() * sizeof(float));
}

auto bad_image() {
  return fail(errc::corrupt, "an image of a part of a table of rows is damaged");
}

}  // namespace

std::uint64_t image_bytes(const row_image& image) noexcept {
  auto bytes = sizeof(head_wire) + image.ids.size() * sizeof(std::uint64_t) +
               image.uses.size() * sizeof(row_use) +
               image.candidates.size() * (sizeof(std::uint64_t) + sizeof(row_use)) +
               aligned(image.values.size() * sizeof(float)) +
               aligned(image.states.size() * sizeof(float));
  for (const auto& delta : image.kept) bytes += delta_bytes(delta);
  return bytes;
}

image_floats encode_image(const row_image& image, std::span<std::byte> into) {
  TIDEGATE_ASSERT(into.size() == image_bytes(image), "a place of image_bytes");
  const head_wire head{.dim = image.dim,
                       .state_floats = image.state_floats,
                       .rows = image.ids.size(),
                       .kept = image.kept.size(),
                       .candidates = image.candidates.size(),
                       .clock = image.clock};
  writer to(into.data());
  to.put(&head, 1);
  to.put(image.ids.data(), image.ids.size());
  to.put(image.uses.data(), image.uses.size());
  image_floats floats;
  floats.values = to.put(image.values.data(), image.values.size());
  floats.states = to.put(image.states.data(), image.states.size());
  to.put(image.candidates.data(), image.candidates.size());
  to.put(image.candidate_uses.data(), image.candidate_uses.size());
  for (const auto& delta : image.kept) {
    const std::uint64_t rows = delta.ids.size();
    to.put(&rows, 1);
    to.put(delta.ids.data(), delta.ids.size());
    to.put(delta.existed.data(), delta.existed.size());
    floats.kept.push_back(to.put(delta.values.data(), delta.values.size()));
  }
  TIDEGATE_ASSERT(to.at() == into.data() + into.size(), "as many as were counted");
  return floats;
}

expected<row_image> decode_image(std::span<const std::byte> bytes) {
  reader from(bytes);
  std::vector<head_wire> heads;
  if (!from.take(heads, 1)) return bad_image();
  const auto& head = heads.front();
  if (head.dim == 0 || head.dim > limits::row_dim_max ||
      head.state_floats > 2 * limits::row_dim_max || head.kept > kept_max ||
      head.rows > bytes.size() || head.candidates > bytes.size())
    return bad_image();
  row_image image;
  image.clock = head.clock;
  image.dim = head.dim;
  image.state_floats = head.state_floats;
  if (!from.take(image.ids, head.rows) || !from.take(image.uses, head.rows) ||
      !from.take(image.values, head.rows * head.dim) ||
      !from.take(image.states, head.rows * head.state_floats) || !ids_ascend(image.ids) ||
      !from.take(image.candidates, head.candidates) ||
      !from.take(image.candidate_uses, head.candidates) || !ids_ascend(image.candidates))
    return bad_image();
  for (std::uint64_t i = 0; i < head.kept; ++i) {
    auto& delta = image.kept.emplace_back();
    std::vector<std::uint64_t> rows;
    if (!from.take(rows, 1) || !from.take(delta.ids, rows.front()) ||
        !from.take(delta.existed, rows.front()) || rows.front() > bytes.size() ||
        !from.take(delta.values, rows.front() * head.dim) || !ids_ascend(delta.ids))
      return bad_image();
  }
  if (!from.at_end()) return bad_image();
  return image;
}

}  // namespace tidegate::runtime
