// All that a worker program needs.
#pragma once

#include <tidegate/device.hpp>
#include <tidegate/filters.hpp>
#include <tidegate/pending.hpp>
#include <tidegate/rows.hpp>
#include <tidegate/session.hpp>
#include <tidegate/status.hpp>
#include <tidegate/table.hpp>
