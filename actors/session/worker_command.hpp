// What a session asks of its worker actor. Made by the session's thread, carried out and
// completed by the reactor's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/control/messages.hpp"
#include "actors/device/device_tables.hpp"
#include "actors/session/pending_state.hpp"
#include "actors/store/table_memory.hpp"
#include "actors/store/worker_rows.hpp"
#include "policies/worker/core.hpp"
#include "runtime/base/element_range.hpp"
#include "runtime/functions/call_wire.hpp"

namespace tidegate::actors {

// What a program is told of an operation that may not begin now.
inline constexpr const char* out_of_order_text =
    ": out of order. Within a clock a table takes its pulls one after another, then one push, "
    "then clock(); nothing after finish()";

struct worker_command {
  enum class action : std::uint8_t {
    open,
    push,
    pull,
    call,
    pull_rows,
    prefetch_rows,
    clock,
    room,
    exchange,
    finish,
    keep_state,
    release,
    use_device,
    copy_from_device,
    copy_to_device
  };
  action kind = action::open;
  policies::table_grant grant;           // open
  std::shared_ptr<table_memory> memory;  // open
  std::shared_ptr<worker_rows> rows;     // open: of a table of rows
  std::span<float> row_values;           // pull_rows: where they go; empty: they are pages
  std::uint32_t table = 0;
  std::vector<std::uint32_t> tables;  // exchange, pull: pulled ones
  const float* gradient = nullptr;    // push: all elements of the table; null: in place
  std::uint32_t half = 0;             // push, exchange: where in place is
  float rate = 1.0F;                  // push, exchange: session::scale_learning_rate()
  float* parameters = nullptr;        // pull: likewise
  // Push, pull: of these ranges, which touch these chunks, in place.
  std::vector<runtime::element_range> ranges;
  std::optional<std::vector<std::uint32_t>> chunks;
  // Their elements are to be copied there first, or here in the end, one after the other.
  const float* packed_gradient = nullptr;
  float* packed_parameters = nullptr;
  runtime::call_wire function{};                       // call
  std::shared_ptr<runtime::function_results> results;  // call: of all chunks
  std::shared_ptr<device_tables> devices;      // use_device: null if it is in use already
  std::uintptr_t stream = 0;                   // use_device
  std::shared_ptr<table_addresses> addresses;  // open: of a table on a device, to be filled
  bool checks = false;  // push, exchange: for NaN and infinity, on a device
  // The program's: of a push or pull; of copies between it and device_tables::bounce(), of so
  // many elements.
  float* device_memory = nullptr;
  std::size_t elements = 0;
  policies::worker_core::extent extent = policies::worker_core::extent::as_policy;
  pending_ptr done;

  worker_command() = default;
  worker_command(worker_command&&) = default;
  worker_command& operator=(worker_command&&) = default;
  // A command that is dropped unread still ends.
  ~worker_command() {
    if (done) done->complete({runtime::errc::cancelled, "the session was closed"});
  }
};

}  // namespace tidegate::actors
