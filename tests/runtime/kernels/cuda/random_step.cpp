#include "tests/runtime/kernels/cuda/random_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <set>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/gaps.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::tests {

namespace {

using kernels::element;
using runtime::mix64;
using runtime::uniform_signed;

constexpr std::size_t memory_alignment = 256;  // cudaMalloc's
constexpr std::size_t gap = 64;                // bytes between arrays that nobody may touch

float random_float(std::uint64_t seed, std::uint64_t i) {
  const auto bits = mix64(seed ^ mix64(i));
  if (bits % 50 == 0) return 0.0F;
  if (bits % 50 == 1) return uniform_signed(seed, i) * 1e-39F;  // subnormal
  return uniform_signed(seed, i) * std::ldexp(1.0F, static_cast<int>(bits % 30) - 15);
}

// Any finite number of a type; of bfloat16 any below 2, whose squares do not overflow.
std::uint16_t random_half(std::uint64_t seed, std::uint64_t i, element type) {
  const auto bits = static_cast<std::uint16_t>(mix64(seed ^ mix64(i)));
  if (type == element::bfloat16) return static_cast<std::uint16_t>(bits & ~0x4000U);
  return (bits & 0x7c00U) == 0x7c00U ? std::uint16_t{0x0001} : bits;
}

void fill_floats(std::byte* to, std::size_t n, std::uint64_t seed, bool is_square) {
  for (std::size_t i = 0; i < n; ++i) {
    const float x = random_float(seed, i);
    const float kept = is_square ? std::fabs(x) : x;
    std::memcpy(to + i * sizeof kept, &kept, sizeof kept);
  }
}

void fill_halves(std::byte* to, std::size_t n, std::uint64_t seed, element type) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = random_half(seed, i, type);
    std::memcpy(to + i * sizeof x, &x, sizeof x);
  }
}

// Ranks that `count` inputs may come from: all, with gaps, of groups summed before, anywhere.
std::vector<std::uint32_t> draw_ranks(runtime::rng& random, std::size_t count,
                                      std::uint64_t known) {
  std::set<std::uint32_t> ranks;
  const auto style = random.below(4);
  const std::uint64_t span = style == 1 ? 2 * count + 2 : known;
  while (ranks.size() < count) {
    const auto next = static_cast<std::uint32_t>(ranks.size());
    if (style == 0) ranks.insert(next);
    if (style == 2) ranks.insert(4 * next);
    if (style % 2 == 1) ranks.insert(static_cast<std::uint32_t>(random.below(span)));
  }
  return {ranks.begin(), ranks.end()};
}

}  // namespace

random_step::random_step(std::uint64_t seed, const step_limits& limits)
    : seed_(seed), ranks_(limits.ranks) {
  runtime::rng random(mix64(seed));
  const auto& traits =
      runtime::dense_optimizers[random.below(std::size(runtime::dense_optimizers))];
  options_ = traits.defaults;
  options_.learning_rate = 0.05F;
  options_.epsilon = random.below(4) == 0 ? 0.5F : 1e-6F;
  options_.weight_decay = 0.02F;
  options_.l1 = 0.3F;
  options_.l2 = 0.4F;
  options_.clip_value = random.below(2) == 0 ? 0.0F : 0.25F;
  number_ = 1 + static_cast<int>(random.below(3));
  for (int step = 1; step < number_; ++step)
    runtime::next_rates(options_, traits.corrects_bias, powers_);
  const auto kind = random.below(8);
  call_ = kind == 0 ? call_kind::sum : kind == 1 ? call_kind::assign : call_kind::update;
  // A short chunk has no whole tile, a middle one some, a long one mostly.
  const std::size_t most[] = {16, 1024, limits.elements_max};
  elements_ = 1 + random.below(std::min(most[random.below(3)], limits.elements_max));
  in_place_ = random.below(2) == 0;
  equally_aligned_ = random.below(4) != 0;
  const auto few = std::min<std::uint64_t>(limits.inputs_max, 8);
  const auto count = 1 + random.below(random.below(4) == 0 ? limits.inputs_max : few);
  scale_ = random.below(2) == 0 ? 1.0F / static_cast<float>(count) : 0.375F;
  draw_inputs(count);
  lay_out();
}

void random_step::choose(std::size_t elements, runtime::optimizer_kind kind,
                         std::size_t inputs) {
  elements_ = elements;
  options_.kind = kind;
  call_ = call_kind::update;
  equally_aligned_ = true;
  draw_inputs(inputs);
  lay_out();
}

bool random_step::choose_gaps() {
  const bool can = call_ != call_kind::sum &&
                   std::all_of(inputs_.begin(), inputs_.end(),
                               [](const auto& each) { return each.type == element::float32; });
  if (!can) return false;
  options_.lazy = true;
  where_ = kernels::gaps::possible;
  return true;
}

void random_step::draw_inputs(std::size_t count) {
  runtime::rng random(mix64(seed_ ^ 0x696e));
  const auto mix = random.below(6);  // 0 to 3: of one type
  const auto ranks = draw_ranks(random, count, ranks_);
  inputs_.clear();
  for (const auto rank : ranks) {
    const auto type = mix < 2 ? 0 : mix < 4 ? mix - 1 : random.below(3);
    inputs_.push_back({.rank = rank, .type = static_cast<element>(type)});
  }
  keeps_sum_ = call_ != call_kind::sum && count > 1 && random.below(2) == 0;
}

void random_step::lay_out() {
  runtime::rng random(mix64(seed_ ^ 0x6c61));
  bytes_ = 0;
  const auto phase = random.below(4);
  const auto place = [&](std::size_t element_bytes) {
    const auto shift = equally_aligned_ ? phase : random.below(8);
    bytes_ = (bytes_ + gap + memory_alignment - 1) / memory_alignment * memory_alignment;
    const auto offset = bytes_ + shift * element_bytes;
    bytes_ = offset + elements_ * element_bytes;
    return offset;
  };
  for (auto& input : inputs_) input.offset = place(size_of(input.type));
  before_ = place(sizeof(float));
  after_ = in_place_ ? before_ : place(sizeof(float));
  state1_ = place(sizeof(float));
  state2_ = place(sizeof(float));
  sum_ = place(sizeof(float));
  bytes_ += gap;
}

void random_step::fill(std::byte* memory) const {
  std::memset(memory, 0x5a, bytes_);
  for (const auto& input : inputs_) {
    const auto seed = mix64(seed_ ^ input.offset);
    if (input.type == element::float32)
      fill_floats(memory + input.offset, elements_, seed, false);
    else
      fill_halves(memory + input.offset, elements_, seed, input.type);
  }
  fill_floats(memory + before_, elements_, mix64(seed_ ^ 1), false);
  fill_floats(memory + state1_, elements_, mix64(seed_ ^ 2), true);
  fill_floats(memory + state2_, elements_, mix64(seed_ ^ 3), true);
  if (where_ == kernels::gaps::possible) fill_gaps(memory);
}

// Runs of gaps of all lengths, and what lies between them, of each input.
void random_step::fill_gaps(std::byte* memory) const {
  runtime::rng random(mix64(seed_ ^ 0x6761));
  for (const auto& input : inputs_) {
    auto* const elements = reinterpret_cast<float*>(memory + input.offset);
    for (auto first = random.below(elements_); first < elements_;) {
      const auto end = first + 1 + random.below(elements_ - first);
      std::fill(elements + first, elements + end, kernels::gap());
      first = end + random.below(40);
    }
  }
}

std::vector<kernels::gradient> random_step::inputs_in(const std::byte* memory) const {
  std::vector<kernels::gradient> gradients;
  for (const auto& input : inputs_)
    gradients.push_back(
        {.data = memory + input.offset, .rank = input.rank, .type = input.type});
  return gradients;
}

kernels::chunk_arrays random_step::arrays_in(std::byte* memory) const {
  const auto floats = [&](std::size_t offset) {
    return reinterpret_cast<float*>(memory + offset);
  };
  const auto states =
      call_ == call_kind::update ? runtime::traits_of(options_.kind).state_arrays : 0;
  return {.before = floats(before_),
          .after = floats(after_),
          .state1 = states >= 1 ? floats(state1_) : nullptr,
          .state2 = states >= 2 ? floats(state2_) : nullptr,
          .n = elements_,
          .sum = keeps_sum_ ? floats(sum_) : nullptr};
}

kernels::cuda::step_constants random_step::constants() const {
  auto powers = powers_;
  const bool corrects_bias = runtime::traits_of(options_.kind).corrects_bias;
  return {.options = options_,
          .rates = runtime::next_rates(options_, corrects_bias, powers),
          .scale = scale_};
}

std::string random_step::describe() const {
  auto text =
      "seed " + std::to_string(seed_) + ", call " + std::to_string(static_cast<int>(call_)) +
      ", " + std::string(runtime::optimizer_name(options_.kind)) + ", clip " +
      std::to_string(options_.clip_value) + ", " + std::to_string(elements_) + " elements, " +
      (in_place_ ? "in place" : "elsewhere") + (keeps_sum_ ? ", sum kept" : "") +
      (equally_aligned_ ? "" : ", aligned differently") +
      (where_ == kernels::gaps::none ? "" : ", gaps") + ", inputs";
  for (const auto& input : inputs_)
    text +=
        " " + std::to_string(input.rank) + "/" + std::to_string(static_cast<int>(input.type));
  return text;
}

step_memory::step_memory(std::size_t bytes)
    : data_(
          static_cast<std::byte*>(::operator new (bytes, std::align_val_t{memory_alignment}))) {
}

void step_memory::release::operator()(std::byte* data) const noexcept {
  ::operator delete (data, std::align_val_t{memory_alignment});
}

}  // namespace tidegate::tests
