#include "launch/bench/device_bench.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "launch/bench/device_arrays.hpp"
#include "runtime/device/open/open_device.hpp"
#include "runtime/device/updates/update_queue.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::bench {

namespace {

namespace devices = runtime::devices;

using host_clock = std::chrono::steady_clock;
using runtime::expected;
using runtime::status;
using runtime::kernels::optimizer_kind;

constexpr int trials = 3;  // of a step, before a batch
constexpr auto batch_time_max = std::chrono::seconds(60);

// Queues so many steps or copies, and returns when they have ended.
using batch = std::function<status(std::uint32_t times)>;

expected<double> seconds_of(const batch& work, std::uint32_t times) {
  const auto begin = host_clock::now();
  if (auto ended = work(times); !ended.ok()) return runtime::fail(ended);
  return std::chrono::duration<double>(host_clock::now() - begin).count() / times;
}

// Returns how many of it fill a batch. The first warms up, because a kernel is loaded when it
// is first launched; the quickest of the next counts, because others were held up.
expected<std::uint32_t> times_of_batch(const batch& work) {
  if (auto warm = work(1); !warm.ok()) return runtime::fail(warm);
  double least = batch_seconds;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seconds = seconds_of(work, 1);
    if (!seconds) return runtime::fail(seconds.error());
    least = std::min(least, *seconds);
  }
  const auto times = batch_seconds / std::max(least, 1e-9);
  return static_cast<std::uint32_t>(std::clamp(times + 1, 1.0, double{batch_steps_max}));
}

// The steps that are measured, in the order of the table.
std::vector<device_step> steps_of(const device_options& options) {
  std::vector<device_step> kernels;
  for (const auto inputs : options.inputs) kernels.push_back({.inputs = inputs});
  for (const auto kind :
       {optimizer_kind::momentum, optimizer_kind::adagrad, optimizer_kind::adam})
    kernels.push_back({.optimizer = kind, .inputs = options.inputs.front()});
  auto steps = kernels;
  for (const auto path : {step_path::queue, step_path::host})
    for (const auto chunk : options.chunks)
      for (auto step : kernels) {
        step.path = path;
        step.chunk_bytes = chunk;
        const bool is_shown =
            step.inputs == options.inputs.front() &&
            (step.optimizer == optimizer_kind::sgd || step.optimizer == optimizer_kind::adam);
        if (path == step_path::queue || is_shown) steps.push_back(step);
      }
  return steps;
}

std::uint64_t states_of(optimizer_kind kind) {
  return runtime::traits_of(kind).state_arrays;
}

class bench_on_device {
 public:
  bench_on_device(devices::device& on, const device_options& options)
      : device_(on), options_(options) {}
  // Memory is given back next.
  ~bench_on_device() { static_cast<void>(device_.synchronize()); }
  bench_on_device(const bench_on_device&) = delete;
  bench_on_device& operator=(const bench_on_device&) = delete;

  status set_up();
  expected<std::vector<device_rate>> run();

 private:
  // Arrays of the queue that steps of an optimizer are made on, in chunks of this size.
  struct table {
    devices::chunk_index first = 0;
    std::vector<std::uint64_t> elements;  // of each chunk
  };

  status add_table(optimizer_kind kind, std::uint64_t chunk_bytes);
  status measure(device_rate& rate);

  status wait_for_event();
  status wait_for_queue(std::uint64_t left);
  status copy_on_device(std::uint32_t times);
  status copy_from_host(std::uint32_t times, std::uint32_t inputs);
  status launch_kernels(const device_step& step, std::uint32_t times);
  status step_in_queue(const device_step& step, std::uint32_t times);

  status late() const {
    return {runtime::errc::unavailable,
            device_.name() + ": a batch of steps did not end within " +
                std::to_string(batch_time_max.count()) +
                " s; take fewer --bytes, and see who else uses the device"};
  }

  devices::device& device_;
  const device_options& options_;
  devices::queue_options queue_options_;
  devices::stream stream_{};
  devices::event end_{};
  std::optional<device_arrays> arrays_;
  std::unique_ptr<devices::update_queue> queue_;
  std::map<std::pair<optimizer_kind, std::uint64_t>, table> tables_;  // by bytes of a chunk
};

status bench_on_device::set_up() {
  const auto stream = device_.make_stream();
  if (!stream) return stream.error();
  stream_ = *stream;
  const auto end = device_.make_event();
  if (!end) return end.error();
  end_ = *end;
  // A copy has two arrays.
  const auto most = *std::max_element(options_.inputs.begin(), options_.inputs.end());
  auto arrays = device_arrays::make(device_,
                                    {.elements = options_.bytes / sizeof(float),
                                     .inputs = std::max<std::size_t>(2, most),
                                     .host_inputs = options_.inputs.front()},
                                    stream_);
  if (!arrays) return arrays.error();
  arrays_.emplace(std::move(*arrays));
  auto queue = devices::update_queue::make(device_, queue_options_);
  if (!queue) return queue.error();
  queue_ = std::move(*queue);
  for (const auto& step : steps_of(options_)) {
    if (step.path == step_path::kernel) continue;
    if (auto added = add_table(step.optimizer, step.chunk_bytes); !added.ok()) return added;
  }
  return wait_for_event();
}

status bench_on_device::add_table(optimizer_kind kind, std::uint64_t chunk_bytes) {
  const auto [at, is_new] = tables_.try_emplace({kind, chunk_bytes});
  if (!is_new) return {};
  auto& elements = at->second.elements;
  const std::uint64_t chunk = chunk_bytes / sizeof(float);
  for (std::uint64_t left = arrays_->elements(); left > 0; left -= elements.back())
    elements.push_back(std::min(chunk, left));
  const auto first = queue_->add_table(
      {.elements = elements, .states = static_cast<std::uint32_t>(states_of(kind))});
  if (!first) return first.error();
  at->second.first = *first;
  return {};
}

status bench_on_device::wait_for_event() {
  if (auto recorded = device_.record(stream_, end_); !recorded.ok()) return recorded;
  const auto limit = host_clock::now() + batch_time_max;
  while (host_clock::now() < limit) {
    const auto ended = device_.has_ended(end_);
    if (!ended) return ended.error();
    if (*ended) return {};
    std::this_thread::yield();
  }
  return late();
}

// Until at most so many operations have not ended.
status bench_on_device::wait_for_queue(std::uint64_t left) {
  const auto limit = host_clock::now() + batch_time_max;
  while (queue_->submitted() - queue_->done() > left) {
    if (const auto news = queue_->poll()) {
      if (!news->outcome.ok()) return news->outcome;
      continue;
    }
    if (host_clock::now() > limit) return late();
    std::this_thread::yield();
  }
  return queue_->failure();
}

status bench_on_device::copy_on_device(std::uint32_t times) {
  for (std::uint32_t i = 0; i < times; ++i) {
    const auto* from = reinterpret_cast<const std::byte*>(arrays_->input(1));
    auto* to = reinterpret_cast<std::byte*>(arrays_->input(0));
    if (auto queued = device_.copy(stream_, to, from, options_.bytes); !queued.ok())
      return queued;
  }
  return wait_for_event();
}

status bench_on_device::copy_from_host(std::uint32_t times, std::uint32_t inputs) {
  for (std::uint32_t i = 0; i < times; ++i)
    for (std::uint32_t input = 0; input < inputs; ++input) {
      auto* to = reinterpret_cast<std::byte*>(arrays_->input(input));
      const auto from = std::as_bytes(arrays_->host_input(input));
      if (auto queued = device_.copy_in(stream_, to, from); !queued.ok()) return queued;
    }
  return wait_for_event();
}

status bench_on_device::launch_kernels(const device_step& step, std::uint32_t times) {
  std::vector<runtime::kernels::gradient> inputs(step.inputs);
  for (std::uint32_t i = 0; i < step.inputs; ++i)
    inputs[i] = {.data = arrays_->input(i), .rank = i};
  const auto states = states_of(step.optimizer);
  devices::update_launch call;
  call.options = runtime::traits_of(step.optimizer).defaults;
  call.options.kind = step.optimizer;
  call.inputs = inputs;
  call.scale = 1.0F / static_cast<float>(step.inputs);
  call.arrays = {.before = arrays_->parameters(),
                 .after = arrays_->parameters(),
                 .state1 = states >= 1 ? arrays_->state(0) : nullptr,
                 .state2 = states >= 2 ? arrays_->state(1) : nullptr,
                 .n = arrays_->elements()};
  for (std::uint32_t i = 0; i < times; ++i)
    if (auto queued = device_.launch(stream_, call); !queued.ok()) return queued;
  return wait_for_event();
}

status bench_on_device::step_in_queue(const device_step& step, std::uint32_t times) {
  const bool is_on_host = step.path == step_path::host;
  const auto& chunks = tables_.at({step.optimizer, step.chunk_bytes});
  std::vector<devices::step_input> inputs(step.inputs);
  devices::step_request request;
  request.options = runtime::traits_of(step.optimizer).defaults;
  request.options.kind = step.optimizer;
  request.scale = 1.0F / static_cast<float>(step.inputs);
  request.inputs = inputs;
  for (std::uint32_t time = 0; time < times; ++time) {
    std::size_t offset = 0;
    for (std::size_t chunk = 0; chunk < chunks.elements.size(); ++chunk) {
      for (std::uint32_t i = 0; i < step.inputs; ++i) {
        const auto* data = is_on_host ? arrays_->host_input(i).data() : arrays_->input(i);
        inputs[i].gradient = {.data = data + offset, .rank = i};
        inputs[i].place =
            is_on_host ? devices::input_place::registered : devices::input_place::device;
      }
      request.chunk = chunks.first + static_cast<devices::chunk_index>(chunk);
      queue_->step(request);
      offset += chunks.elements[chunk];
      // As many as the queue has under way, so that none waits for a place.
      if (auto room = wait_for_queue(queue_options_.operations_max - 1); !room.ok())
        return room;
    }
  }
  return wait_for_queue(0);
}

// Measures one repeat more.
status bench_on_device::measure(device_rate& rate) {
  const auto& step = rate.step;
  const batch copy = [&](std::uint32_t times) {
    return step.path == step_path::host ? copy_from_host(times, step.inputs)
                                        : copy_on_device(times);
  };
  const batch work = [&](std::uint32_t times) {
    return step.path == step_path::kernel ? launch_kernels(step, times)
                                          : step_in_queue(step, times);
  };
  const auto copies = times_of_batch(copy);
  if (!copies) return copies.error();
  const auto copied = seconds_of(copy, *copies);
  if (!copied) return copied.error();
  const auto steps = times_of_batch(work);
  if (!steps) return steps.error();
  const auto stepped = seconds_of(work, *steps);
  if (!stepped) return stepped.error();
  rate.steps = *steps;
  rate.copy_seconds.push_back(*copied);
  rate.seconds.push_back(*stepped);
  return {};
}

expected<std::vector<device_rate>> bench_on_device::run() {
  std::vector<device_rate> rates;
  for (const auto& step : steps_of(options_)) {
    auto& rate = rates.emplace_back();
    rate.step = step;
    const auto gradients = options_.bytes * step.inputs;
    const bool is_from_host = step.path == step_path::host;
    rate.bytes_moved = gradients;
    if (!is_from_host) rate.bytes_moved += options_.bytes * 2 * (1 + states_of(step.optimizer));
    rate.copy_bytes = is_from_host ? gradients : 2 * options_.bytes;
  }
  for (std::uint32_t repeat = 0; repeat < options_.repeats; ++repeat)
    for (auto& rate : rates)
      if (auto measured = measure(rate); !measured.ok()) return runtime::fail(measured);
  return rates;
}

}  // namespace

expected<std::vector<device_rate>> measure_device(const device_options& options) {
  const auto device = devices::open_device(options.device);
  if (!device) return runtime::fail(device.error());
  bench_on_device bench(**device, options);
  if (auto ready = bench.set_up(); !ready.ok()) {
    if (ready.code() != runtime::errc::io_error) return runtime::fail(ready);
    return runtime::fail(ready.code(), ready.message() + "; take fewer --bytes or --inputs");
  }
  return bench.run();
}

}  // namespace tidegate::bench
