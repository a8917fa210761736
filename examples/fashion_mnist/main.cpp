// `fashion_mnist`: a worker that trains a classifier of clothes. See options.cpp for its
// command line and worker.hpp for what it does each clock.
//
// Exit codes: 0 done; 1 the job was told why this worker failed; 2 failed before it joined a
// job.
#include <cstdio>
#include <span>

#include "examples/fashion_mnist/idx.hpp"
#include "examples/fashion_mnist/options.hpp"
#include "examples/fashion_mnist/worker.hpp"
#include <tidegate/client.hpp>

namespace tidegate::examples {

namespace {

using trainer = worker<session>;

status train(session& job, const options& chosen, const training_options& training,
             const labelled_images& train_set) {
  const bool evaluates = job.info().rank == 0;
  labelled_images test_set;
  if (evaluates) {
    // Before the training and not after it, so that a missing file is noticed at once.
    auto loaded = read_split(chosen.data, split::test);
    if (!loaded) return loaded.error();
    test_set = std::move(*loaded);
  }
  auto work = trainer::make(job, train_set, training);
  if (!work) return work.error();
  if (auto s = work->train(); !s) return s;
  if (evaluates) {
    if (auto s = work->report_final(train_set, test_set); !s) return s;
  }
  return job.finish();
}

int refuse(const status& why) {
  std::fprintf(stderr, "fashion_mnist: %s\n", why.message().c_str());
  return 2;
}

int run(std::span<const char* const> arguments) {
  auto chosen = parse_options(arguments);
  if (!chosen) return refuse(chosen.error());
  if (chosen->help) {
    std::fputs(usage.data(), stdout);
    return 0;
  }
  auto kernels = select_kernels(chosen->simd);
  if (!kernels) return refuse(kernels.error());
  // Before joining, which starts the clocks of others; a failure is for the whole job to hear.
  auto train_set = read_split(chosen->data, split::train);

  const training_options training{
      .widths = chosen->model == "softmax" ? softmax_widths() : mlp_widths(),
      .epochs = chosen->epochs,
      .batch = chosen->batch,
      .kernels = *kernels,
  };
  auto job = session::connect();
  if (!job) return refuse(job.error());
  const status result =
      train_set ? train(*job, *chosen, training, *train_set) : train_set.error();
  if (result) return 0;
  job->fail(result);
  std::fprintf(stderr, "fashion_mnist: rank %u: %s\n", job->info().rank,
               result.to_string().c_str());
  return 1;
}

}  // namespace

}  // namespace tidegate::examples

int main(int argc, char** argv) {
  const auto count = static_cast<std::size_t>(argc > 0 ? argc - 1 : 0);
  return tidegate::examples::run({argv + 1, count});
}
