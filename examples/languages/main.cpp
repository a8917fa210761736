// `languages`: a worker that learns which language a paragraph is in, from the n-grams of its
// characters. Each n-gram has a row with a score for each language; the scores of a paragraph
// are the mean of its rows, and the loss is the cross entropy of their softmax.
//
//   python3 examples/languages/prepare.py
//   tidegate launch examples/languages/languages.yaml
//
// A batch is a function of rank and clock, so any process may be killed at any moment: the
// parameters come out with the same bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "examples/languages/text.hpp"
#include <tidegate/client.hpp>

namespace tidegate::examples {

namespace {

constexpr std::size_t batch_size = 64;  // paragraphs of a worker and clock
constexpr std::size_t batches_of_test = 256;

using scores = std::array<float, languages>;

// Some paragraphs, and the rows that they need, each once.
class batch {
 public:
  void clear() {
    ngrams_.clear();
    labels_.clear();
    ids_.clear();
  }
  void add(const paragraph& next) {
    ngrams_.push_back(ngrams_of(next.text));
    labels_.push_back(next.language);
    ids_.insert(ids_.end(), ngrams_.back().begin(), ngrams_.back().end());
  }
  // Pulls the rows, with this function of ids and values. From here on an n-gram is the place
  // of its row.
  template <class Pull>
  status pull(const Pull& pull) {
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    for (auto& ngrams : ngrams_)
      for (auto& ngram : ngrams)
        ngram = static_cast<std::uint64_t>(std::lower_bound(ids_.begin(), ids_.end(), ngram) -
                                           ids_.begin()) *
                languages;
    rows_.resize(ids_.size() * languages);
    return pull(ids_, rows_).wait();
  }

  // Returns the sum of the losses, and leaves the gradients of their mean.
  double learn() {
    gradients_.assign(rows_.size(), 0.0F);
    double loss = 0;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      auto error = softmax(scores_of(i));
      loss -= std::log(std::max(error[labels_[i]], 1e-30F));
      error[labels_[i]] -= 1;
      const auto share = 1.0F / static_cast<float>(ngrams_[i].size() * labels_.size());
      for (const auto place : ngrams_[i])
        for (std::size_t k = 0; k < languages; ++k) gradients_[place + k] += error[k] * share;
    }
    return loss;
  }
  std::size_t guessed_right() const {
    std::size_t right = 0;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const auto found = scores_of(i);
      const auto best = std::max_element(found.begin(), found.end()) - found.begin();
      right += static_cast<std::size_t>(best) == labels_[i] ? 1 : 0;
    }
    return right;
  }

  std::size_t size() const { return labels_.size(); }
  const std::vector<std::uint64_t>& ids() const { return ids_; }
  const std::vector<float>& gradients() const { return gradients_; }

 private:
  scores scores_of(std::size_t i) const {
    scores sums{};
    for (const auto place : ngrams_[i])
      for (std::size_t k = 0; k < languages; ++k) sums[k] += rows_[place + k];
    for (auto& sum : sums) sum /= static_cast<float>(ngrams_[i].size());
    return sums;
  }
  static scores softmax(scores values) {
    const auto most = *std::max_element(values.begin(), values.end());
    float total = 0;
    for (auto& value : values) total += value = std::exp(value - most);
    for (auto& value : values) value /= total;
    return values;
  }

  std::vector<std::vector<std::uint64_t>> ngrams_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint64_t> ids_;
  std::vector<float> rows_, gradients_;
};

status train(session& job, const row_table& table, const std::vector<paragraph>& texts,
             std::uint64_t epochs) {
  const auto [rank, workers] = std::pair(job.info().rank, job.info().workers);
  const auto clocks = epochs * texts.size() / (batch_size * workers);
  batch next;
  for (auto clock = job.now(); clock < clocks; clock = job.now()) {
    next.clear();
    const auto first = (clock * workers + rank) * batch_size;
    for (std::size_t i = 0; i < batch_size; ++i) next.add(texts[(first + i) % texts.size()]);
    if (auto s = next.pull([&](auto& ids, auto& rows) { return table.pull(ids, rows); }); !s)
      return s;
    const auto loss = next.learn() / batch_size;
    if (auto s = table.push(next.ids(), next.gradients()).wait(); !s) return s;
    if (auto s = job.clock(); !s) return s;
    job.report(
        {.clocks_total = clocks,
         .epoch = static_cast<double>(epochs * (clock + 1)) / static_cast<double>(clocks),
         .loss = loss,
         .samples = (clock + 1) * batch_size});
  }
  return {};
}

status test(session& job, const row_table& table, const std::vector<paragraph>& texts) {
  std::size_t right = 0;
  batch next;
  for (std::size_t first = 0; first < texts.size(); first += batches_of_test) {
    next.clear();
    for (auto i = first; i < std::min(texts.size(), first + batches_of_test); ++i)
      next.add(texts[i]);
    if (auto s = next.pull([&](auto& ids, auto& rows) { return table.pull_final(ids, rows); });
        !s)
      return s;
    right += next.guessed_right();
  }
  job.report_metric("test_accuracy",
                    static_cast<double>(right) / static_cast<double>(texts.size()));
  return {};
}

status work(session& job, const std::string& folder, std::uint64_t epochs) {
  const auto train_set = read_paragraphs(folder + "/train.tsv");
  if (!train_set) return train_set.error();
  const auto test_set = read_paragraphs(folder + "/test.tsv");
  if (!test_set) return test_set.error();
  row_table_options options;
  options.optimizer = {.name = "adagrad", .learning_rate = 1.0F};
  options.init_constant = 0.0F;
  const auto table = job.open_rows("ngrams", languages, options);
  if (!table) return table.error();
  if (auto s = train(job, *table, *train_set, epochs); !s) return s;
  if (job.info().rank == 0)
    if (auto s = test(job, *table, *test_set); !s) return s;
  return job.finish();
}

}  // namespace

}  // namespace tidegate::examples

// Exit codes: 0 done; 1 the job was told why this worker failed; 2 bad usage, or no job.
int main(int argc, char** argv) {
  using namespace tidegate;
  const auto epochs = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (epochs == 0) {
    std::fputs("usage: languages FOLDER EPOCHS\n", stderr);
    return 2;
  }
  auto job = session::connect();
  if (!job) {
    std::fprintf(stderr, "languages: %s\n", job.error().to_string().c_str());
    return 2;
  }
  const auto result = examples::work(*job, argv[1], epochs);
  if (result) return 0;
  job->fail(result);
  std::fprintf(stderr, "languages: rank %u: %s\n", job->info().rank,
               result.to_string().c_str());
  return 1;
}
