// The work of one worker of the job: a loop of pull, gradient, push, clock; and what rank 0
// says at the end. Written against the session's interface and not its type, so that tests run
// it without a cluster.
//
// Nothing is copied: the model reads parameters where the session finds them, which lasts until
// the push, and writes gradients where shards sum from. Pushes travel while the next clock is
// computed; clock() and finish() say if one has failed.
//
// `Session` is tidegate::session or looks like it. One thread; the worker borrows session and
// data, and owns the model. Errors are values: the first failure of any call is returned, with
// what was being done in front.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "examples/fashion_mnist/batch.hpp"
#include "examples/fashion_mnist/model.hpp"
#include "examples/fashion_mnist/sampler.hpp"
#include <tidegate/status.hpp>

namespace tidegate::examples {

struct training_options {
  std::vector<std::uint32_t> widths = mlp_widths();
  std::uint32_t epochs = 10;
  std::uint32_t batch = 32;
  dense_kernels kernels;
};

inline constexpr std::uint32_t evaluation_rows = 256;  // per step of the final evaluation
inline constexpr std::uint64_t report_clocks = 20;     // report at least this often,
inline constexpr std::chrono::milliseconds report_every{
    100};                                       // or at the first clock after this
inline constexpr double loss_smoothing = 0.05;  // weight of the newest clock

template <class Session>
class worker {
 public:
  // Errors: invalid_argument (more samples per clock than there are).
  static expected<worker> make(Session& session, const labelled_images& train,
                               const training_options& options) {
    const auto& info = session.info();
    if (std::uint64_t{info.workers} * options.batch > train.count) {
      return fail(errc::invalid_argument,
                  std::to_string(info.workers) + " workers with a batch of " +
                      std::to_string(options.batch) + " need more than the " +
                      std::to_string(train.count) + " training images");
    }
    if (train.pixels != options.widths.front()) {
      return fail(errc::invalid_argument, "images have " + std::to_string(train.pixels) +
                                              " pixels, not " +
                                              std::to_string(options.widths.front()));
    }
    return worker(session, train, options);
  }

  // Opens the tables and runs all clocks that this session has left; a restarted worker starts
  // where its predecessor was.
  status train() {
    if (auto s = open_tables(); !s) return s;
    const std::uint64_t clocks = clocks_total();
    while (session_->now() < clocks) {
      if (auto s = run_clock(session_->now()); !s) return s;
    }
    return {};
  }

  // For rank 0, after train(): final parameters, their loss on `train_set` and accuracy on
  // `test_set`.
  status report_final(const labelled_images& train_set, const labelled_images& test_set) {
    pulls_.clear();
    for (const auto& handle : tables_) pulls_.push_back(session_->pull_final(handle));
    if (auto s = finish_pulls("final pull"); !s) return s;
    const batch_score test = score_all(model_, test_set, rows_max());
    const batch_score train = score_all(model_, train_set, rows_max());
    session_->report_metric("test_accuracy",
                            static_cast<double>(test.correct) / test_set.count);
    session_->report_metric("loss", train.loss / train_set.count);
    return {};
  }

  std::uint64_t clocks_total() const noexcept {
    return sampler_.clocks_per_epoch() * options_.epochs;
  }

 private:
  using table = typename decltype(std::declval<Session&>().open_table({}, {}))::value_type;
  using pending = decltype(std::declval<Session&>().pull({}));
  using wall = std::chrono::steady_clock;

  worker(Session& session, const labelled_images& train, const training_options& options)
      : session_(&session),
        options_(options),
        model_(options.widths, std::max(options.batch, evaluation_rows), options.kernels),
        sampler_({session.info().seed, train.count, session.info().workers, session.info().rank,
                  options.batch}),
        batch_(train, options.batch),
        gradients_(model_.tensors().size()) {}

  std::uint32_t rows_max() const noexcept { return std::max(options_.batch, evaluation_rows); }

  status open_tables() {
    for (const auto& tensor : model_.tensors()) {
      auto opened = session_->open_table(tensor.name, tensor.shape);
      if (!opened) return in("open_table " + tensor.name, opened.error());
      tables_.push_back(*opened);
    }
    return {};
  }

  status run_clock(std::uint64_t clock) {
    pulls_.clear();
    for (const auto& handle : tables_) pulls_.push_back(session_->pull(handle));
    batch_.load(sampler_.batch(clock));  // while the pulls are under way
    if (auto s = finish_pulls("pull"); !s) return s;

    const batch_score score = model_.evaluate(batch_.inputs(), batch_.labels());
    // Not before they are written: by now the shards may have done with those of the clock
    // before, and the same memory, which is in the caches, is written again.
    for (std::size_t i = 0; i < tables_.size(); ++i)
      gradients_[i] = session_->gradient(tables_[i]);
    model_.backward(batch_.inputs(), batch_.labels(), gradients_);
    for (const auto& handle : tables_) session_->push(handle);
    if (auto s = session_->clock(); !s) return in("clock", s);
    note_progress(clock + 1, score.loss / options_.batch);
    return {};
  }

  status finish_pulls(const char* subject) {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (auto s = pulls_[i].wait(); !s)
        return in(subject + (" " + model_.tensors()[i].name), s);
      model_.use(i, session_->parameters(tables_[i]));
    }
    return {};
  }

  static status in(const std::string& subject, const status& why) {
    return {why.code(), subject + ": " + why.message()};
  }

  void note_progress(std::uint64_t clocks_done, double loss) {
    smoothed_ = smoothed_ ? *smoothed_ + loss_smoothing * (loss - *smoothed_) : loss;
    const auto time = wall::now();
    const bool due = clocks_done % report_clocks == 0 || clocks_done == clocks_total() ||
                     time - reported_ >= report_every;
    if (!due) return;
    reported_ = time;
    session_->report({
        .clocks_total = clocks_total(),
        .epoch =
            static_cast<double>(clocks_done) / static_cast<double>(sampler_.clocks_per_epoch()),
        .loss = *smoothed_,
        .samples = clocks_done * options_.batch,
    });
  }

  Session* session_;
  training_options options_;
  model model_;
  sampler sampler_;
  batch_buffer batch_;
  std::vector<table> tables_;
  std::vector<pending> pulls_;
  std::vector<std::span<float>> gradients_;  // one per tensor
  std::optional<double> smoothed_;
  wall::time_point reported_ = wall::now();
};

}  // namespace tidegate::examples
