// The calls of a session about its device: tables that are opened after use() are there. Thread
// rule: that of the session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "actors/device/device_tables.hpp"
#include "actors/session/worker_command.hpp"
#include "runtime/base/status.hpp"
#include <tidegate/device.hpp>
#include <tidegate/pending.hpp>
#include <tidegate/table.hpp>

namespace tidegate::actors {

class session_impl;

class device_calls {
 public:
  explicit device_calls(session_impl& session) : session_(session) {}

  // session::use_device().
  runtime::status use(const session_device& wanted);
  bool has(const table& where) const { return addresses_.contains(where.id); }
  // For a table that is being opened; null if it lies on the host.
  std::shared_ptr<table_addresses> new_addresses() const;
  void added(std::uint32_t table, std::shared_ptr<table_addresses> addresses) {
    addresses_[table] = std::move(addresses);
  }
  // The parameters of the table, if it is on the device, are not read any more.
  void end_parameters(std::uint32_t table);
  // session::device_gradient(), device_parameters(), copy().
  runtime::expected<device_span> gradient(const table& where);
  const_device_span parameters(const table& where) const;
  runtime::status copy(device_span to, std::span<const float> from);
  runtime::status copy(std::span<float> to, const_device_span from);
  pending pull(const table& where, float* into, policies::worker_core::extent wanted);
  // Returns why a table cannot be pushed from, or pulled to, so many elements of device memory.
  runtime::status check(const table& where, std::uint64_t elements, const char* doing) const;

 private:
  runtime::status copy_piece(worker_command::action kind, float* on_device,
                             std::size_t elements);
  template <class Piece>
  runtime::status copy_in_pieces(std::uint64_t size, std::uint64_t other, const Piece& piece);
  // Waits for a copy whose wait was interrupted.
  runtime::status settle();

  session_impl& session_;
  std::shared_ptr<device_tables> tables_;
  std::map<std::uint32_t, std::shared_ptr<table_addresses>> addresses_;
  std::optional<pending> copying_;  // a wait for it was interrupted
};

}  // namespace tidegate::actors
