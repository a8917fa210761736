// Options and words of a command of `tidegate`. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct parsed_words {
  boost::program_options::variables_map options;
  std::vector<std::string> words;  // that are no options, in order
};

// Reads what follows the name of a command; `known`: its options. What they are bound to is
// set, unless "help" is among what is given. Errors: invalid_argument; of an unknown option the
// message has the nearest known.
runtime::expected<parsed_words> parse_words(
    const std::string& command, const boost::program_options::options_description& known,
    const std::vector<std::string>& args);

}  // namespace tidegate::launch
