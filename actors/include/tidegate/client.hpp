// Front door of the installed package: the worker's client API under short names.
#pragma once

#include "actors/client.hpp"

namespace tidegate {

using actors::job_info;
using actors::optimizer;
using actors::pending;
using actors::progress;
using actors::session;
using actors::table;
using actors::table_options;
using runtime::errc;
using runtime::expected;
using runtime::status;

}  // namespace tidegate
