// A command of `tidegate` as those see it who complete a command line or write a manual: the
// text of --help, and the options that its command line is parsed by. Plain values.
#pragma once

#include <string>
#include <vector>

namespace tidegate::launch {

struct option_name {
  std::string name;       // "run-dir"
  char letter = 0;        // 'f' of -f; 0: there is no short form
  bool has_value = true;  // it takes the next word, or what follows "="
};

struct command_page {
  std::string name;  // "launch", "bench exchange"
  std::string help;
  std::vector<option_name> options;
};

}  // namespace tidegate::launch
