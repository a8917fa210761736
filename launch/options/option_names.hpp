// The options that a command line is parsed by, as those see them who complete it. Pure, any
// thread.
#pragma once

#include <vector>

#include <boost/program_options.hpp>

#include "launch/text/command_page.hpp"

namespace tidegate::launch {

std::vector<option_name> option_names(const boost::program_options::options_description& known);

}  // namespace tidegate::launch
