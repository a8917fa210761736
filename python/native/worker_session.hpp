// The session of a Python worker: a tidegate::session that knows who may use it.
//
// Python passes objects between threads, keeps them past their end and forks at will; each such
// use is told by an exception here, before the session sees it. Waits let go of the GIL, and a
// signal whose Python handler raises ends them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <optional>
#include <string>
#include <sys/types.h>
#include <thread>
#include <utility>
#include <vector>

#include <tidegate/client.hpp>

#include "python/native/errors.hpp"

namespace tidegate::python {

// A push or pull that is under way. It must be waited for by the thread that has the session.
class operation;

class worker_session : public std::enable_shared_from_this<worker_session> {
 public:
  using array = nanobind::ndarray<nanobind::numpy, float, nanobind::ndim<1>>;
  using const_array = nanobind::ndarray<nanobind::numpy, const float, nanobind::ndim<1>>;
  using own_array = nanobind::ndarray<const float, nanobind::ndim<1>, nanobind::c_contig,
                                      nanobind::device::cpu>;
  using own_output =
      nanobind::ndarray<float, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

  // Waits for this process's place if it is a spare. Returns the variables that came with it.
  static std::vector<std::pair<std::string, std::string>> await_place(bool may_copy);
  // Joins the job of this process's environment. Raises what session::connect returns, and
  // OutOfOrderError if this process has a session that has not ended.
  static std::shared_ptr<worker_session> connect();
  ~worker_session();
  worker_session(const worker_session&) = delete;
  worker_session& operator=(const worker_session&) = delete;

  const job_info& info() const noexcept { return info_; }
  std::uint64_t now();
  // Returns true until the clocks have ended.
  bool is_open() const noexcept { return can_finish() && !clocks_ended_; }
  // Returns true until the session has finished or failed.
  bool can_finish() const noexcept { return session_.has_value() && !ended_; }
  bool is_of_this_process() const noexcept;

  table open_table(const std::string& name, std::vector<std::uint64_t> shape,
                   const std::optional<table_options>& options);
  // Plain arrays of the table's windows. They keep the memory of this session mapped, also past
  // its end; what they show is the caller's to know (tidegate/_view.py).
  array gradient(const table& where);
  const_array parameters(const table& where);
  // Return where these arrays begin, so that Python knows those that it has; 0: there are none.
  std::uintptr_t gradient_at(const table& where);
  std::uintptr_t parameters_at(const table& where);
  operation push(const table& where);
  operation pull(const table& where, bool to_the_end);
  operation push_from(const table& where, own_array gradient);
  operation pull_into(const table& where, own_output parameters, bool to_the_end);
  // Of these elements, as pairs of the first and the one behind the last; in place, or packed.
  using range_pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  operation push_ranges(const table& where, const range_pairs& ranges,
                        std::optional<own_array> values);
  operation pull_ranges(const table& where, const range_pairs& ranges,
                        std::optional<own_output> values);
  std::vector<double> call(const table& where, const std::string& function,
                           const std::vector<double>& arguments);
  void exchange(const std::vector<table>& tables);
  void clock();
  void scale_learning_rate(float factor);
  void report(const progress& now);
  void report_metric(const std::string& name, double value);
  // Afterwards finish(), fail() and take_over() are left.
  void end_clocks();
  void finish();
  // Leaves it to the end of this process: at status 0 the session is finished, else failed. To
  // be called when Python ends; afterwards there is no session here.
  void finish_at_exit();
  void fail(const std::string& why);
  // Makes the calling thread the one that may use this session. Raises OutOfOrderError while
  // another thread is in a call of it.
  void take_over();
  // Likewise until give_back(), which makes it that of the thread before. Pairs may nest.
  void borrow();
  void give_back();

 private:
  friend class operation;
  friend class session_device_calls;
  friend class session_row_calls;
  friend class session_state_calls;

  // While one lives, a call is under way and no other thread takes over. Under the GIL.
  class busy {
   public:
    explicit busy(worker_session& home) : home_(home), before_(home.busy_) {
      home_.busy_ = true;
    }
    ~busy() { home_.busy_ = before_; }
    busy(const busy&) = delete;
    busy& operator=(const busy&) = delete;

   private:
    worker_session& home_;
    bool before_;
  };

  explicit worker_session(session joined);
  // Returns the session, for a call by this thread. Raises if it may not be used, and
  // use() also when the clocks have ended.
  session& current_session();
  session& use();
  // Returns what `call` returns, which runs without the GIL; the memory of what is done with is
  // let go before. Raises what a signal's handler has raised meanwhile.
  template <class Call>
  auto run(Call&& call);
  template <class Call>
  auto run_on(session& current, Call&& call);
  // Likewise for an operation on `memory`, which is kept until that has ended, also where a
  // signal's handler has raised meanwhile.
  template <class Call>
  pending run_keeping(nanobind::object memory, Call&& call);
  template <class Call>
  auto run_unchecked(session& current, Call&& call);
  // Ends the membership; memory stays as long as arrays of it.
  void close();
  void keep(const pending& until, nanobind::object memory);  // none: nothing
  void forget_done();
  nanobind::object hold_memory();
  void release_memory();

  std::optional<session> session_;
  job_info info_;
  pid_t process_;
  std::thread::id thread_;
  std::vector<std::thread::id> lenders_;  // whose it was before each borrow()
  bool clocks_ended_ = false;
  bool ended_ = false;
  bool busy_ = false;
  std::size_t arrays_ = 0;  // of our memory that Python has
  // The program's own memory, until the operation on it has ended.
  std::vector<std::pair<pending, nanobind::object>> kept_;
};

template <class Call>
auto worker_session::run(Call&& call) {
  return run_on(use(), std::forward<Call>(call));
}

template <class Call>
auto worker_session::run_unchecked(session& current, Call&& call) {
  forget_done();
  const busy in_call(*this);
  const nanobind::gil_scoped_release waiting;
  return call(current);
}

template <class Call>
auto worker_session::run_on(session& current, Call&& call) {
  auto outcome = run_unchecked(current, std::forward<Call>(call));
  check({});
  return outcome;
}

template <class Call>
pending worker_session::run_keeping(nanobind::object memory, Call&& call) {
  auto started = run_unchecked(use(), std::forward<Call>(call));
  keep(started, std::move(memory));
  check({});
  return started;
}

class operation {
 public:
  operation(std::shared_ptr<worker_session> home, pending started)
      : home_(std::move(home)), started_(std::move(started)) {}

  bool ready() const { return started_.ready(); }
  // Blocks, without the GIL. Raises what the operation came to, if that is no success.
  void wait();

 private:
  std::shared_ptr<worker_session> home_;
  pending started_;
};

}  // namespace tidegate::python
