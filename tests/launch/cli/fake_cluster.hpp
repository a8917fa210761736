// A cluster of sockets and one-line messages that behaves like the real one as far as the
// launcher can see, so that the launcher is tested as a whole without CAF and UCX.
#pragma once

#include <string>
#include <vector>

#include "launch/run/services.hpp"

namespace tidegate::launch {

services fake_services();

// `fake_tidegate worker ACTION [argument]`: joins its job, then
//   done          reports test_accuracy 0.9 and finishes; exits 0
//   done_then N   finishes, then exits with N
//   fail TEXT     fails the job with TEXT; exits 1
//   exit N        exits with N without a word to its job
//   quieter N     likewise; only its first incarnation writes what all others do, too
//   abort         ends by SIGABRT
//   hang          waits to be ended; stubborn: ignores SIGTERM as well
//   stranger      exits 0 without having joined
int fake_worker(const std::vector<std::string>& arguments);

}  // namespace tidegate::launch
