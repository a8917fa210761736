// `tidegate` bound to the fake cluster.
#include "launch/cli/program.hpp"
#include "tests/launch/cli/fake_cluster.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "worker") {
    return tidegate::launch::fake_worker({arguments.begin() + 1, arguments.end()});
  }
  return tidegate::launch::run_program(arguments, tidegate::launch::fake_services());
}
