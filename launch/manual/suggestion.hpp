// A word that may follow on a command line. Plain value.
#pragma once

#include <string>

namespace tidegate::launch {

struct suggestion {
  std::string word;
  std::string about = {};  // one line; may be empty

  friend bool operator==(const suggestion&, const suggestion&) = default;
};

}  // namespace tidegate::launch
