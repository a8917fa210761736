#include "python/native/worker_session.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <unistd.h>

#include "python/native/errors.hpp"

namespace nb = nanobind;

namespace tidegate::python {

namespace {

// One session at a time: a process is one worker.
std::atomic<bool> has_session{false};

// Whether a signal has come whose handler raises. Only Python's main thread runs handlers.
std::atomic<bool> python_is_over{false};

bool signal_raises() {
  if (python_is_over) return false;
  const nb::gil_scoped_acquire gil;
  return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
}

// A child in which Python's own locks and modules are as after os.fork(); -1: it failed.
int fork_python() {
  const nb::gil_scoped_acquire gil;
  try {
    return nb::cast<int>(nb::module_::import_("os").attr("fork")());
  } catch (const nb::python_error&) {
    return -1;
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> worker_session::await_place(bool may_copy) {
  const auto placed = [&] {
    const nb::gil_scoped_release waiting;
    return tidegate::await_place(
        {.interrupted = signal_raises, .may_copy = may_copy, .fork = fork_python});
  }();
  check(placed);
  static bool told = false;  // what the program has changed since is its own
  if (std::exchange(told, true)) return {};
  return place_variables();
}

std::shared_ptr<worker_session> worker_session::connect() {
  if (has_session.exchange(true))
    raise({errc::out_of_order,
           "this process has a session already; a process is one worker. End that one first "
           "(finish(), or the end of its `with`)"});
  auto joined = [] {
    try {
      const nb::gil_scoped_release waiting;
      return session::connect(signal_raises);
    } catch (...) {  // no more threads
      has_session = false;
      throw;
    }
  }();
  if (!joined || PyErr_Occurred() != nullptr) has_session = false;
  return std::shared_ptr<worker_session>(new worker_session(checked(std::move(joined))));
}

worker_session::worker_session(session joined)
    : session_(std::move(joined)),
      info_(session_->info()),
      process_(::getpid()),
      thread_(std::this_thread::get_id()) {}

// The C++ session leaves everything alone in a forked process.
worker_session::~worker_session() {
  if (session_ && is_of_this_process()) {
    const nb::gil_scoped_release waiting;
    session_.reset();
    has_session = false;
  }
}

bool worker_session::is_of_this_process() const noexcept {
  return ::getpid() == process_;
}

session& worker_session::current_session() {
  if (!is_of_this_process())
    raise({errc::out_of_order, "this process was forked from worker " +
                                   std::to_string(info_.rank) +
                                   "; the session stays with the worker (process " +
                                   std::to_string(process_) + "), which alone may use it"});
  if (!can_finish()) raise({errc::out_of_order, "the session has ended"});
  if (std::this_thread::get_id() != thread_)
    raise({errc::out_of_order,
           "the session belongs to the thread that opened it; Session.take_over() gives it to "
           "the thread that calls that"});
  return *session_;
}

session& worker_session::use() {
  auto& current = current_session();
  if (!is_open()) raise({errc::out_of_order, "the session has ended"});
  return current;
}

std::uint64_t worker_session::now() {
  return use().now();
}

table worker_session::open_table(const std::string& name, std::vector<std::uint64_t> shape,
                                 const std::optional<table_options>& options) {
  return checked(run([&](session& current) {
    return options ? current.open_table(name, std::move(shape), *options)
                   : current.open_table(name, std::move(shape));
  }));
}

nb::object worker_session::hold_memory() {
  ++arrays_;
  auto* const home = new std::shared_ptr<worker_session>(shared_from_this());
  return nb::capsule(home, [](void* held) noexcept {
    const std::unique_ptr<std::shared_ptr<worker_session>> last(
        static_cast<std::shared_ptr<worker_session>*>(held));
    (*last)->release_memory();
  });
}

void worker_session::release_memory() {
  --arrays_;
  if (!ended_ || arrays_ > 0 || !is_of_this_process()) return;
  const nb::gil_scoped_release waiting;
  session_.reset();
}

worker_session::array worker_session::gradient(const table& where) {
  const auto memory = run([&](session& current) { return current.gradient(where); });
  return {memory.data(), {memory.size()}, hold_memory()};
}

worker_session::const_array worker_session::parameters(const table& where) {
  const auto memory = use().parameters(where);
  return {memory.data(), {memory.size()}, hold_memory()};
}

std::uintptr_t worker_session::gradient_at(const table& where) {
  return reinterpret_cast<std::uintptr_t>(
      run([&](session& current) { return current.gradient(where); }).data());
}

std::uintptr_t worker_session::parameters_at(const table& where) {
  const auto memory = use().parameters(where);
  return memory.size() == where.size ? reinterpret_cast<std::uintptr_t>(memory.data()) : 0;
}

operation worker_session::push(const table& where) {
  return {shared_from_this(), run([&](session& current) { return current.push(where); })};
}

operation worker_session::pull(const table& where, bool to_the_end) {
  return {shared_from_this(), run([&](session& current) {
            return to_the_end ? current.pull_final(where) : current.pull(where);
          })};
}

operation worker_session::push_from(const table& where, own_array gradient) {
  const std::span<const float> values(gradient.data(), gradient.size());
  return {shared_from_this(), run_keeping(nb::cast(std::move(gradient)), [&](session& current) {
            return current.push(where, values);
          })};
}

operation worker_session::pull_into(const table& where, own_output parameters,
                                    bool to_the_end) {
  const std::span<float> into(parameters.data(), parameters.size());
  return {shared_from_this(),
          run_keeping(nb::cast(std::move(parameters)), [&](session& current) {
            return to_the_end ? current.pull_final(where, into) : current.pull(where, into);
          })};
}

namespace {

std::vector<element_range> ranges_of(const worker_session::range_pairs& pairs) {
  std::vector<element_range> ranges;
  ranges.reserve(pairs.size());
  for (const auto& [first, last] : pairs) ranges.push_back({.first = first, .last = last});
  return ranges;
}

template <class Array>
nb::object object_of(const std::optional<Array>& array) {
  return array ? nb::cast(*array) : nb::object();
}

}  // namespace

operation worker_session::push_ranges(const table& where, const range_pairs& pairs,
                                      std::optional<own_array> values) {
  const auto ranges = ranges_of(pairs);
  return {shared_from_this(), run_keeping(object_of(values), [&](session& current) {
            if (!values) return current.push(where, ranges);
            return current.push(where, ranges, std::span(values->data(), values->size()));
          })};
}

operation worker_session::pull_ranges(const table& where, const range_pairs& pairs,
                                      std::optional<own_output> values) {
  const auto ranges = ranges_of(pairs);
  return {shared_from_this(), run_keeping(object_of(values), [&](session& current) {
            if (!values) return current.pull(where, ranges);
            return current.pull(where, ranges, std::span(values->data(), values->size()));
          })};
}

std::vector<double> worker_session::call(const table& where, const std::string& function,
                                         const std::vector<double>& arguments) {
  return checked(
      run([&](session& current) { return current.call(where, function, arguments); }));
}

void worker_session::keep(const pending& until, nb::object memory) {
  if (memory.is_valid() && !until.ready()) kept_.emplace_back(until, std::move(memory));
}

void worker_session::forget_done() {
  std::erase_if(kept_, [](const auto& kept) { return kept.first.ready(); });
}

void worker_session::exchange(const std::vector<table>& tables) {
  check(run([&](session& current) { return current.exchange(tables); }));
}

void worker_session::scale_learning_rate(float factor) {
  check(run([factor](session& current) { return current.scale_learning_rate(factor); }));
}

void worker_session::clock() {
  check(run([](session& current) { return current.clock(); }));
}

void worker_session::report(const progress& now) {
  run([&](session& current) { return current.report(now), true; });
}

void worker_session::report_metric(const std::string& name, double value) {
  run([&](session& current) { return current.report_metric(name, value), true; });
}

void worker_session::end_clocks() {
  check(run([](session& current) { return current.end_clocks(); }));
  clocks_ended_ = true;
}

void worker_session::finish() {
  check(run_on(current_session(), [](session& current) { return current.finish(); }));
  close();
}

namespace {

// The session that the process's end finishes. Python is over then, and so may be what is
// static.
std::optional<session>& last_session() {
  static auto& last = *new std::optional<session>;
  return last;
}

void end_last_session(int exit_status, void*) {
  auto& last = last_session();
  if (!last) return;
  if (exit_status != 0)
    last->fail({errc::cancelled, "the program ended with status " +
                                     std::to_string(exit_status) + ", without finish()"});
  else if (const auto finished = last->finish(); !finished.ok())
    std::fprintf(stderr,
                 "tidegate: the job was not told that this program has ended well: %s\n",
                 finished.message().c_str());
  last.reset();
}

}  // namespace

// Only at the end is it known with which status the program ends: `exit(1)`, say, may come from
// anywhere, and Python tells nobody.
void worker_session::finish_at_exit() {
  current_session();
  if (::on_exit(end_last_session, nullptr) != 0) return finish();
  last_session() = std::move(session_);
  session_.reset();
  ended_ = true;
  python_is_over = true;
  // Pushes of the program's own memory may be under way: it stays.
  static auto& until_the_end = *new std::vector<std::pair<pending, nb::object>>;
  until_the_end = std::move(kept_);
}

void worker_session::fail(const std::string& why) {
  run_on(current_session(), [&](session& current) {
    return current.fail({errc::cancelled, why}), true;
  });
  close();
}

void worker_session::close() {
  if (!can_finish()) return;
  current_session();
  ended_ = true;
  has_session = false;
  ++arrays_;  // the last array may go while the GIL is given up
  {
    const busy in_call(*this);
    const nb::gil_scoped_release waiting;
    session_->leave();
  }
  kept_.clear();
  // The memory stays until the last array has gone; the membership has ended.
  release_memory();
}

void worker_session::take_over() {
  if (busy_ && std::this_thread::get_id() != thread_)
    raise({errc::out_of_order, "another thread is in a call of the session"});
  thread_ = std::this_thread::get_id();
  current_session();
}

void worker_session::borrow() {
  const auto lender = thread_;
  take_over();
  lenders_.push_back(lender);
}

void worker_session::give_back() {
  if (lenders_.empty()) raise({errc::out_of_order, "the session was not borrowed"});
  thread_ = lenders_.back();
  lenders_.pop_back();
}

void operation::wait() {
  if (!started_.ready()) home_->use();
  const auto outcome = [&] {
    const worker_session::busy in_call(*home_);
    const nb::gil_scoped_release waiting;
    return started_.wait();
  }();
  check(outcome);
}

}  // namespace tidegate::python
