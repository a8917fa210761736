// All-reduce with gloo over its TCP transport (the only one it has for one host), then the
// optimizer's step on every rank. Algorithms: ring and bcube of gloo::allreduce, and the older
// halving_doubling and ring_chunked, which sum in place.
#include <cstdio>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "tests/launch/bench/peers/driver.hpp"

namespace {

using namespace tidegate;
using bench::peer_options;

constexpr auto time_out = std::chrono::seconds(60);

std::shared_ptr<gloo::Context> connect(const peer_options& options) {
  gloo::transport::tcp::attr address;
  address.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(address);
  auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(options.rank),
                                                             static_cast<int>(options.ranks));
  gloo::rendezvous::FileStore store(options.store);
  context->setTimeout(time_out);
  context->connectFullMesh(store, device);
  return context;
}

class gloo_peer final : public bench::peer {
 public:
  explicit gloo_peer(const peer_options& options)
      : peer(options), options_(options), context_(connect(options)) {
    const auto count = static_cast<int>(elements());
    const std::vector<float*> where{gradient()};
    if (options.algorithm == "halving_doubling")
      older_ = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(context_, where, count);
    if (options.algorithm == "ring_chunked")
      older_ = std::make_unique<gloo::AllreduceRingChunked<float>>(context_, where, count);
  }

  runtime::status exchange() override {
    try {
      sum();
    } catch (const std::exception& e) {
      return {runtime::errc::unavailable, std::string("gloo: ") + e.what()};
    }
    step(gradient(), 0, elements());
    return {};
  }

 private:
  void sum() {
    if (older_) {
      older_->run();
      return;
    }
    gloo::AllreduceOptions all_reduce(context_);
    all_reduce.setOutput(gradient(), elements());
    all_reduce.setAlgorithm(options_.algorithm == "bcube"
                                ? gloo::AllreduceOptions::Algorithm::BCUBE
                                : gloo::AllreduceOptions::Algorithm::RING);
    all_reduce.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    all_reduce.setTimeout(time_out);
    gloo::allreduce(all_reduce);
  }

  peer_options options_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<gloo::Algorithm> older_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse_peer(argc, argv);
  if (!options) {
    std::fprintf(stderr, "bench_gloo: %s\n", options.error().message().c_str());
    return 2;
  }
  return bench::run_peer(
      *options, [](const peer_options& all) -> runtime::expected<std::unique_ptr<bench::peer>> {
        try {
          return std::make_unique<gloo_peer>(all);
        } catch (const std::exception& e) {
          return runtime::fail(runtime::errc::unavailable, std::string("gloo: ") + e.what());
        }
      });
}
