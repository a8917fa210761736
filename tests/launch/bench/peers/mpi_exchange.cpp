// All-reduce with MPI, then the optimizer's step on every rank; compiled once for OpenMPI and
// once for MPICH. Algorithms: `allreduce` in place, `separate` with a buffer of its own for the
// sum, and `reduce_scatter`, where each rank steps its share and all gather the parameters.
// Which algorithm MPI takes inside is said by its own settings.
#include <cstdio>
#include <mpi.h>
#include <optional>

#include "tests/launch/bench/peers/driver.hpp"

namespace {

using namespace tidegate;
using bench::peer_options;

runtime::status check(int code, const char* what) {
  if (code == MPI_SUCCESS) return {};
  return {runtime::errc::unavailable, std::string(what) + " failed"};
}

class mpi_peer final : public bench::peer {
 public:
  explicit mpi_peer(const peer_options& options)
      : peer(options), algorithm_(options.algorithm), rank_(options.rank) {
    count_ = static_cast<int>(elements());
    share_ = elements() / options.ranks;
    // What does not divide evenly goes the plain way.
    scatters_ = algorithm_ == "reduce_scatter" && share_ * options.ranks == elements();
    if (scatters_) sum_.emplace(share_);
    if (algorithm_ == "separate") sum_.emplace(elements());
  }

  runtime::status exchange() override {
    if (scatters_) return step_share();
    const bool in_place = !sum_;
    float* sum = in_place ? gradient() : sum_->data();
    auto done = check(MPI_Allreduce(in_place ? MPI_IN_PLACE : gradient(), sum, count_,
                                    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
                      "MPI_Allreduce");
    if (done.ok()) step(sum, 0, elements());
    return done;
  }

 private:
  runtime::status step_share() {
    const auto share = static_cast<int>(share_);
    if (auto done = check(MPI_Reduce_scatter_block(gradient(), sum_->data(), share, MPI_FLOAT,
                                                   MPI_SUM, MPI_COMM_WORLD),
                          "MPI_Reduce_scatter_block");
        !done.ok())
      return done;
    step(sum_->data(), rank_ * share_, share_);
    return check(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, writable_parameters(), share,
                               MPI_FLOAT, MPI_COMM_WORLD),
                 "MPI_Allgather");
  }

  std::string algorithm_;
  std::size_t rank_;
  int count_ = 0;
  std::size_t share_ = 0;
  bool scatters_ = false;
  std::optional<bench::huge_array> sum_;
};

int run(int argc, char** argv) {
  auto options = bench::parse_peer(argc, argv);
  if (!options) {
    std::fprintf(stderr, "bench_mpi: %s\n", options.error().message().c_str());
    return 2;
  }
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  options->rank = static_cast<std::uint32_t>(rank);
  options->ranks = static_cast<std::uint32_t>(ranks);
  return bench::run_peer(
      *options, [](const peer_options& all) -> runtime::expected<std::unique_ptr<bench::peer>> {
        return std::make_unique<mpi_peer>(all);
      });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = run(argc, argv);
  // The others would wait for a rank that has failed.
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return code;
}
