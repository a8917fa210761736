// Links inside one process, for tests and simulations of a cluster without a network.
//
// A `loopback_network` connects the links made from it; links may live on different threads.
// With `hold_one_in` > 0 a waiting frame is held back with that chance at each progress(), so
// frames arrive late and out of order, as `link` permits; the choice is seeded.
#pragma once

#include <memory>

#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

struct loopback_options {
  std::uint64_t seed = 1;
  std::uint32_t hold_one_in =
      0;  // 0: deliver in order at once; n >= 2: hold a frame back 1 time in n
};

class loopback_network {
 public:
  explicit loopback_network(loopback_options options = {});
  ~loopback_network();

  // Any thread. The network must outlive its links.
  std::unique_ptr<link> make_link();

  struct state;

 private:
  std::unique_ptr<state> state_;
};

}  // namespace tidegate::runtime
