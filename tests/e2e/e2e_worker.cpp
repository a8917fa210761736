// A worker program for end-to-end tests: `e2e_worker MODE [ARGUMENT]`.
//   workload CLOCKS   the bits of tests/support/workload.hpp
//   idle SECONDS      joins, opens a table, waits, finishes
//   nan               pushes a NaN
//   shape             pushes a gradient of the wrong size
//   exit CODE         leaves without a word
//   leave             rank 1 leaves without a word and with status 0, the others train
//   forever           trains until it is killed
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "actors/client.hpp"
#include "tests/support/workload.hpp"

namespace {

using namespace tidegate;
using runtime::status;

status idle(actors::session& session, int seconds) {
  auto table = session.open_table("t", {1000});
  if (!table) return table.error();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  return session.finish();
}

status push_once(actors::session& session, std::size_t size, float value) {
  auto table = session.open_table("t", {1000});
  if (!table) return table.error();
  const std::vector<float> gradient(size, value);
  if (auto pushed = session.push(*table, gradient).wait(); !pushed.ok()) return pushed;
  if (auto clocked = session.clock(); !clocked.ok()) return clocked;
  return session.finish();
}

status run(actors::session& session, const std::string& mode, int argument) {
  if (mode == "idle") return idle(session, argument);
  if (mode == "nan") return push_once(session, 1000, std::numeric_limits<float>::quiet_NaN());
  if (mode == "shape") return push_once(session, 999, 1.0F);
  if (mode == "exit") std::_Exit(argument);
  if (mode == "leave" && session.info().rank == 1) std::_Exit(0);
  tests::workload_options work;
  work.shapes = {{300, 300}, {10}};
  work.clocks = mode == "forever" || mode == "leave" ? ~std::uint64_t{0}
                                                     : static_cast<std::uint64_t>(argument);
  return tests::run_workload(session, work);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const int argument = argc > 2 ? std::atoi(argv[2]) : 0;
  auto session = actors::session::connect();
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().to_string().c_str());
    return 2;
  }
  if (const auto done = run(*session, mode, argument); !done.ok()) {
    session->fail(done);
    return 1;
  }
  return 0;
}
