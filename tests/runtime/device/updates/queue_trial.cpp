#include "tests/runtime/device/updates/queue_trial.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/device/updates/update_queue.hpp"
#include "tests/runtime/device/updates/chunk_copy.hpp"
#include "tests/runtime/device/updates/patience.hpp"
#include "tests/runtime/device/updates/result_memory.hpp"
#include "tests/runtime/device/updates/trial_plan.hpp"
#include "tests/runtime/device/updates/window_reader.hpp"
#include "tests/runtime/device/updates/worker_gradients.hpp"

namespace tidegate::tests {

namespace {

using namespace runtime::devices;
namespace kernels = runtime::kernels;
using runtime::mix64;
using runtime::uniform_signed;

constexpr auto array_bytes = trial_plan::array_bytes;
constexpr std::size_t gradients_max = 24;
constexpr std::size_t results_max = 12;

class trial {
 public:
  trial(device& on, std::uint64_t seed, const emulated_device* emulated)
      : device_(on), emulated_(emulated), random_(mix64(seed ^ 0x747269)) {}

  trial_report run() {
    set_up();
    const auto operations = 10 + random_.below(30);
    for (std::uint64_t i = 0; i < operations && !is_over(); ++i) submit();
    read_all();
    drain([&] { return queue_ != nullptr && queue_->is_idle(); });
    check_end();
    return report_;
  }

 private:
  bool is_over() const { return !report_.problem.empty(); }
  void problem(const std::string& text) {
    if (report_.problem.empty()) report_.problem = text;
  }
  template <class Value>
  bool has(const runtime::expected<Value>& value) {
    if (!value) set_up_failed_ = true;
    return value.has_value();
  }

  void set_up();
  void submit();
  void submit_step();
  void submit_steps();
  void submit_steps(chunk_index first, chunk_index last);
  void submit_step(step_request request, std::vector<step_input> inputs, std::uint64_t element);
  void submit_read(const array_name& array);
  void submit_write();
  void read_all();
  array_name draw_array();
  std::vector<step_input> draw_inputs(std::size_t elements, ticket of, bool are_on_device);
  template <class Condition>
  void drain(const Condition& is_enough);
  void take(const completion& item);
  void take_inputs_read(ticket of);
  void take_done(ticket of);
  void read_in_place(const array_name& parameters);
  void check_end();

  device& device_;
  const emulated_device* emulated_;
  runtime::rng random_;
  trial_plan plan_{random_};
  trial_report report_;
  bool set_up_failed_ = false;

  // Before the queue, which waits for its work in the end.
  worker_gradients gradients_{gradients_max, trial_plan::chunks_max* array_bytes};
  std::vector<std::size_t> readers_ = std::vector<std::size_t>(gradients_max);
  result_memory results_{results_max, array_bytes};

  // What another process sees of the parameters; on emulated devices.
  window_reader reader_{device_};

  std::unique_ptr<update_queue> queue_;
  std::vector<chunk_copy> chunks_;

  struct expectation {
    bool is_read = false;
    std::byte* memory = nullptr;      // a read's or write's
    std::vector<float> values;        // a read's
    std::vector<std::size_t> inputs;  // a step's, of gradients_
    array_name array;
  };
  std::map<ticket, expectation> waiting_;
  ticket last_ = 0, last_read_ = 0, last_done_ = 0;
};

void trial::set_up() {
  set_up_failed_ = !gradients_.set_up(device_).ok() || !results_.set_up(device_).ok();
  if (set_up_failed_) return;
  auto queue = update_queue::make(device_, plan_.queue);
  if (!has(queue)) return;
  const auto first = (*queue)->add_table(plan_.shape);
  if (!has(first)) return;
  for (std::uint32_t i = 1; i < plan_.shape.version_buffers; ++i) {
    const auto chunk = static_cast<chunk_index>(random_.below(plan_.elements.size()));
    set_up_failed_ = set_up_failed_ || !(*queue)->prepare(*first + chunk, i).ok();
  }
  if (set_up_failed_) return;
  set_up_failed_ =
      emulated_ != nullptr && !reader_.open(**queue, *first, plan_.shape.version_buffers).ok();
  if (set_up_failed_) return;
  queue_ = std::move(*queue);
  for (const auto elements : plan_.elements) chunks_.emplace_back(elements, plan_.shape);
}

array_name trial::draw_array() {
  array_name array{.chunk = static_cast<chunk_index>(random_.below(chunks_.size()))};
  const auto draw = random_.below(4 + plan_.shape.states + (plan_.shape.sums > 0 ? 1 : 0));
  if (draw < 4) {
    array.copy = static_cast<std::uint32_t>(random_.below(plan_.shape.version_buffers));
  } else if (draw < 4 + plan_.shape.states) {
    array.kind = draw == 4 ? array_kind::state1 : array_kind::state2;
  } else {
    array.kind = array_kind::sum;
    array.copy = static_cast<std::uint32_t>(random_.below(plan_.shape.sums));
  }
  return array;
}

void trial::submit() {
  if (last_ - last_done_ >= plan_.waiting_most || random_.below(4) == 0)
    drain([&] { return last_ - last_done_ < plan_.waiting_most; });
  if (!queue_ || is_over()) return;
  const auto kind = random_.below(10);
  if (kind < 4) return submit_step();
  if (kind < 6) return submit_steps();
  if (kind < 9) return submit_read(draw_array());
  submit_write();
}

std::vector<step_input> trial::draw_inputs(std::size_t elements, ticket of,
                                           bool are_on_device) {
  std::vector<step_input> inputs;
  const auto count = 1 + random_.below(random_.below(4) == 0 ? 12 : 3);
  const bool is_mixed = random_.below(3) == 0;
  const auto type = static_cast<kernels::element>(random_.below(3));
  std::uint32_t rank = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto own = is_mixed ? static_cast<kernels::element>(random_.below(3)) : type;
    const auto index = gradients_.write(random_.below(gradients_max), elements, own,
                                        random_.next(), are_on_device);
    if (index == gradients_.size()) break;
    rank += static_cast<std::uint32_t>(random_.below(3)) + (i > 0 ? 1 : 0);
    inputs.push_back(gradients_.input(index, rank));
    waiting_[of].inputs.push_back(index);
  }
  if (gradients_.is_stuck()) problem("a worker's event does not end");
  return inputs;
}

void trial::submit_step() {
  const auto chunk = static_cast<chunk_index>(random_.below(chunks_.size()));
  submit_steps(chunk, chunk);
}

// As gradients of a whole table make them; some steps read the same one's first elements.
void trial::submit_steps() {
  const auto first = static_cast<chunk_index>(random_.below(chunks_.size()));
  const auto last = static_cast<chunk_index>(first + random_.below(chunks_.size() - first));
  submit_steps(first, last);
}

void trial::submit_steps(chunk_index first, chunk_index last) {
  const auto elements =
      std::accumulate(&plan_.elements[first], &plan_.elements[last] + 1, std::uint64_t{0});
  const bool are_on_device = first != last && random_.below(2) == 0;
  const auto inputs = draw_inputs(elements, last_ + 1, are_on_device);
  if (inputs.empty()) {
    waiting_.erase(last_ + 1);
    return submit_read(draw_array());
  }
  step_request request{
      .kind = random_.below(8) == 0 ? update_launch::step::assign : update_launch::step::update,
      .from = static_cast<std::uint32_t>(random_.below(plan_.shape.version_buffers)),
      .to = static_cast<std::uint32_t>(random_.below(plan_.shape.version_buffers)),
      .options = plan_.options,
      .scale = 1.0F / static_cast<float>(inputs.size()),
      .inputs = {},
      .sum = std::nullopt};
  if (plan_.shape.sums > 0 && random_.below(2) == 0)
    request.sum = static_cast<std::uint32_t>(random_.below(plan_.shape.sums));
  const auto indices = waiting_[last_ + 1].inputs;
  for (const auto index : indices) readers_[index] = last - first + 1;
  const bool are_side_by_side = random_.below(4) != 0;
  std::uint64_t element = 0;
  for (request.chunk = first; request.chunk <= last; ++request.chunk) {
    waiting_[last_ + 1].inputs = indices;
    submit_step(request, inputs, element);
    if (are_side_by_side) element += plan_.elements[request.chunk];
  }
}

// With the gradients from this element on. The same is done on the CPU.
void trial::submit_step(step_request request, std::vector<step_input> inputs,
                        std::uint64_t element) {
  auto& chunk = chunks_[request.chunk];
  auto& expected = waiting_[last_ + 1];
  std::vector<kernels::gradient> gradients;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& gradient = inputs[i].gradient;
    const auto offset = element * size_of(gradient.type);
    gradient.data = static_cast<const std::byte*>(gradient.data) + offset;
    gradients.push_back(gradient);
    gradients.back().data = gradients_.values(expected.inputs[i]) + offset;
  }
  request.inputs = inputs;
  chunk.step(request, gradients);
  expected.array = {.chunk = request.chunk, .copy = request.to};
  const auto of = queue_->step(request);
  if (of != ++last_) problem("tickets are not consecutive");
  const auto& powers = queue_->powers(request.chunk);
  if (powers.beta1 != chunk.powers().beta1 || powers.beta2 != chunk.powers().beta2)
    problem("the powers of the betas differ");
  ++report_.steps;
}

void trial::submit_read(const array_name& array) {
  auto* const memory = results_.take(random_);
  if (memory == nullptr) return;
  const auto elements = plan_.elements[array.chunk];
  std::memset(memory, 0x33, elements * sizeof(float));
  last_ = queue_->read(array, {reinterpret_cast<float*>(memory), elements},
                       results_.place_of(memory));
  waiting_[last_] = {.is_read = true,
                     .memory = memory,
                     .values = chunks_[array.chunk].array(array),
                     .inputs = {},
                     .array = array};
  ++report_.reads;
}

void trial::submit_write() {
  auto* const memory = results_.take(random_);
  if (memory == nullptr) return;
  const auto array = draw_array();
  auto& values = chunks_[array.chunk].array(array);
  const auto key = random_.next();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::abs(uniform_signed(key, i));
  std::memcpy(memory, values.data(), values.size() * sizeof(float));
  last_ = queue_->write(array, {reinterpret_cast<const float*>(memory), values.size()},
                        results_.place_of(memory));
  waiting_[last_] = {
      .is_read = false, .memory = memory, .values = {}, .inputs = {}, .array = array};
}

void trial::read_all() {
  if (!queue_) return;
  for (chunk_index chunk = 0; chunk < chunks_.size(); ++chunk)
    for (const auto kind :
         {array_kind::parameters, array_kind::state1, array_kind::state2, array_kind::sum}) {
      const std::uint32_t copies = kind == array_kind::parameters ? plan_.shape.version_buffers
                                   : kind == array_kind::sum      ? plan_.shape.sums
                                   : kind == array_kind::state1   ? plan_.shape.states >= 1
                                                                  : plan_.shape.states >= 2;
      for (std::uint32_t copy = 0; copy < copies; ++copy) {
        drain([&] { return !results_.is_empty(); });
        if (is_over()) return;
        submit_read({.chunk = chunk, .kind = kind, .copy = copy});
      }
    }
}

// Polls until it is enough.
template <class Condition>
void trial::drain(const Condition& is_enough) {
  if (!queue_) return;
  patience waiting;
  while (!is_over()) {
    const auto item = queue_->poll();
    if (item)
      take(*item);
    else if (is_enough())
      return;
    else if (waiting.is_over())
      problem("stuck");
  }
}

void trial::take(const completion& item) {
  const bool is_paced =
      emulated_ != nullptr && emulated_->paced_by() == emulated_options::pace::caller;
  if (is_paced && emulated_->is_lost() && item.outcome.ok())
    problem("news of success from a device that is lost");
  if (!item.outcome.ok() && !report_.is_lost) {
    report_.is_lost = true;
    if (emulated_ == nullptr || !emulated_->is_lost())
      problem("news of failure: " + item.outcome.message());
  }
  const auto& found = waiting_[item.of];
  if (item.kind == news::inputs_read) {
    if (found.is_read || item.of <= last_read_) problem("inputs_read out of order");
    last_read_ = item.of;
    return take_inputs_read(item.of);
  }
  if (item.of != last_done_ + 1 || (!found.is_read && item.of > last_read_))
    problem("done out of order");
  last_done_ = item.of;
  take_done(item.of);
}

// What was given back is written by others at once.
void trial::take_inputs_read(ticket of) {
  auto& found = waiting_[of];
  if (found.memory != nullptr)
    std::memset(found.memory, 0xff, plan_.elements[found.array.chunk] * sizeof(float));
  for (const auto index : found.inputs)
    if (--readers_[index] == 0) gradients_.give_back(index);
}

void trial::take_done(ticket of) {
  const auto& found = waiting_[of];
  if (found.is_read && !report_.is_lost &&
      std::memcmp(found.memory, found.values.data(), found.values.size() * sizeof(float)) != 0)
    problem("other bits in what was read back by operation " + std::to_string(of) + ", array " +
            std::to_string(static_cast<int>(found.array.kind)));
  if (!found.inputs.empty() && of == last_ && emulated_ != nullptr && !report_.is_lost)
    read_in_place(found.array);
  if (found.memory != nullptr) results_.give_back(found.memory);
  waiting_.erase(of);
}

// As a worker on the same device does when it is told that the step is done.
void trial::read_in_place(const array_name& parameters) {
  auto* const registered = results_.find_registered();
  if (registered == nullptr || !reader_.is_open()) return;
  const auto& values = chunks_[parameters.chunk].array(parameters);
  std::uint64_t offset = 0;
  for (chunk_index chunk = 0; chunk < parameters.chunk; ++chunk)
    offset += plan_.elements[chunk] * sizeof(float);
  const std::span result(registered, values.size() * sizeof(float));
  const auto ended = reader_.read(parameters.copy, offset, result);
  if (!ended) return;
  if (!*ended) return problem("a reader's event does not end");
  if (std::memcmp(result.data(), values.data(), result.size()) != 0)
    problem("other bits in what was read in place");
  ++report_.seen;
}

void trial::check_end() {
  if (queue_) {
    report_.pages_moved = queue_->counted().pages_moved;
    report_.joined = queue_->counted().steps_joined;
  }
  if (is_over()) return;
  if (set_up_failed_) {
    report_.is_lost = true;
    if (emulated_ == nullptr || !emulated_->is_lost()) problem("it could not be set up");
    return;
  }
  if (last_done_ != last_ || !waiting_.empty()) problem("operations without news");
  if (emulated_ != nullptr && emulated_->waits() != 0)
    problem("the caller's thread waited for the device");
  if (emulated_ != nullptr && emulated_->is_lost() && queue_->failure().ok())
    problem("nobody has noticed that the device is lost");
}

}  // namespace

trial_report try_queue(device& on, std::uint64_t seed) {
  return trial(on, seed, dynamic_cast<const emulated_device*>(&on)).run();
}

trial_report try_emulated(std::uint64_t seed, emulated_options::pace paced_by,
                          bool may_be_lost) {
  runtime::rng random(mix64(seed));
  const std::uint64_t scales[] = {0, 500, 20'000, 200'000};
  emulated_options options{.seed = seed, .paced_by = paced_by};
  options.most = {.delay_ns = scales[random.below(4)],
                  .duration_ns = scales[random.below(4)],
                  .news_ns = scales[random.below(3)]};
  if (may_be_lost && random.below(2) == 0) options.lost_after = 1 + random.below(600);
  emulated_device on(options);
  return try_queue(on, seed);
}

}  // namespace tidegate::tests
