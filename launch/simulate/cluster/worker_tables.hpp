// The tables of a simulated worker: the gradients that it writes, the parameters that it reads,
// and what the checker is told of both. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/worker_shell.hpp"
#include "actors/store/worker_rows.hpp"
#include "launch/simulate/cluster/draws.hpp"
#include "launch/simulate/cluster/endpoint_memory.hpp"
#include "launch/simulate/cluster/process.hpp"
#include "policies/protocol/double_buffer.hpp"
#include "runtime/base/element_range.hpp"
#include "runtime/functions/call_wire.hpp"

namespace tidegate::sim {

class worker_tables final : public actors::worker_memory {
 public:
  using ranges = std::vector<runtime::element_range>;
  // An operation pushes these, which lie in this half.
  struct push {
    std::vector<std::uint32_t> tables;
    std::uint32_t half = 0;
    std::uint64_t clock = 0;
    std::size_t acknowledged = 0;  // the first so many of `tables`
    // By table, the chunks that are pushed; nothing: all.
    std::map<std::uint32_t, std::optional<std::vector<std::uint32_t>>> touched = {};
  };

  // `owner`: the worker's process. Both outlive it.
  worker_tables(world& where, const process& owner, std::uint32_t rank,
                std::uint32_t incarnation);

  // The worker has been let in. `core`: of its shell, and outlives all calls that follow.
  void enter(const policies::worker_welcome& welcome, const policies::worker_core& core);

  void add(const policies::table_grant& grant);
  // Its place in the job, which stays in another epoch.
  void set_number(std::uint32_t table, std::uint64_t number) {
    tables_.at(table).number = number;
  }
  std::uint64_t number_of(std::uint32_t table) const { return tables_.at(table).number; }
  bool is_lazy(std::uint32_t table) const { return tables_.at(table).grant.lazy; }
  bool has_rows(std::uint32_t table) const { return tables_.at(table).rows != nullptr; }
  // What is asked of the table by a pull: rows by a call.
  policies::worker_core::answer_kind answer_of(std::uint32_t table) const {
    using kind = policies::worker_core::answer_kind;
    return has_rows(table) ? kind::results : kind::parameters;
  }
  // Takes what a pull of rows has brought, or lets be read in place. Returns the parts that are
  // to be pulled again, if there are some.
  using part_list = actors::worker_rows::part_list;
  std::optional<part_list> take_rows(std::uint32_t table);
  // A pull of all rows of a table begins.
  void begin_pull(std::uint32_t table);
  // A pull of all its rows ahead of their use, if none is under way. Returns the parts that are
  // asked.
  part_list begin_pull_ahead(std::uint32_t table);
  // Some ranges of the table, at least one.
  ranges draw_ranges(std::uint32_t table, draws& chance) const;
  // The chunks that they touch; nothing: all.
  std::optional<part_list> chunks_of(std::uint32_t table,
                                     const std::optional<ranges>& of) const;
  // The chunks that were written in this half, valid until the next call; nothing: all.
  std::optional<std::span<const std::uint32_t>> written_chunks(std::uint32_t table,
                                                               std::uint32_t half) const;
  std::size_t chunks() const noexcept { return chunks_; }
  // Those of tables of rows, which are pulled by calls, and of tables of which a function has
  // been called.
  std::size_t called_chunks() const;
  // The halves of a table's gradient, as shards of this host map them, there or on a device.
  std::vector<region> gradients_of(std::uint32_t table, bool on_device) const {
    const auto& known = tables_.at(table);
    return on_device ? known.device_halves : known.halves;
  }
  bool has_device() const noexcept { return !device_name_.empty(); }
  // What has been written on the device is pushed. `to_host`: some shard reads it on the host,
  // or is sent it.
  void stage(const std::vector<std::uint32_t>& tables, std::uint32_t half, bool to_host);
  // A shard's next process reads on the host what is not acknowledged.
  void bring_to_host();

  // Reads the parameters after a pull of `clock`. `everything`: see session::pull_final.
  void read(std::uint64_t clock, bool is_final, std::uint32_t table);
  // Writes the gradient of a clock, which follows from the parameters that were read, the rank
  // and the clock; of these ranges alone, if any are given. What was read must still be there.
  void write(std::uint32_t table, std::uint64_t clock, std::uint32_t half,
             const std::optional<ranges>& of = std::nullopt);
  // The operation pushes these.
  void begin_push(policies::operation op, push begun);
  // All of the operation's push is in the parameters, or will be where `is_exchange`: the
  // memory is the program's again when it is, and whoever still reads it finds no numbers.
  void end_push(policies::operation op, bool is_exchange);
  // Looks which pushes of exchanges have been acknowledged meanwhile.
  void check_exchanged();

  runtime::place_wire place_of_gradients(std::uint32_t table) const override;
  const float* gradient(std::uint32_t table, std::uint32_t half) const {
    return tables_.at(table).halves[half]->data();
  }
  actors::sent_payload payload_of(const policies::worker_effects::send& send,
                                  std::optional<std::uint32_t> moves) override;
  std::span<std::byte> room_for(const policies::chunk_place& chunk,
                                std::uint32_t table) override;
  // A call of the table's sum begins, and has ended: it is checked against what was read where
  // the version is the same for sure, and of rows against all versions that there were.
  void begin_call(std::uint32_t table);
  void check_call(std::uint32_t table) const;
  std::optional<policies::sent_list> list_of(const policies::worker_effects::send& send,
                                             bool is_here) override {
    const auto& rows = tables_.at(send.table).rows;
    if (!rows) return std::nullopt;
    return actors::list_of_send(*rows, *core_, send, is_here);
  }
  std::span<std::byte> room_for_results(const policies::chunk_place& chunk, std::uint32_t table,
                                        std::uint64_t bytes) override {
    auto& known = tables_.at(table);
    if (known.rows)
      return known.rows->room(actors::kind_of_pull(*core_, table), chunk.chunk, bytes);
    if (bytes != runtime::call_payload_bytes) return {};
    return known.results.at(chunk.chunk);
  }
  runtime::status map_parameters(std::uint32_t table, const policies::table_part& part,
                                 std::uint32_t moves,
                                 std::span<const std::byte> place) override;
  std::span<const std::byte> device_gradients(std::uint32_t table) const override;
  runtime::status map_on_device(std::uint32_t table, const policies::table_part& part,
                                std::uint32_t moves,
                                std::span<const std::byte> places) override;
  std::uint64_t device_buffers(std::uint32_t table, std::uint32_t shard,
                               std::uint32_t moves) const override;
  bool pulls_on_device(std::uint32_t table) const override;

 private:
  struct chunk_source {
    // Of each process that its shard has been.
    std::map<std::uint32_t, endpoint_memory::version_buffers> mapped;
    std::map<std::uint32_t, endpoint_memory::version_buffers> on_device;
  };
  struct table_state {
    policies::table_grant grant;
    std::uint64_t number = 0;
    std::vector<region> halves;
    std::vector<region> device_halves;  // of a worker with a device, which writes there
    std::array<bool, policies::gradient_halves> on_host{};
    std::array<std::uint64_t, policies::gradient_halves> written{};  // in which clock
    // The chunks that are pushed of each half; nothing: all.
    std::array<std::optional<std::vector<std::uint32_t>>, policies::gradient_halves> touched;
    region room;
    std::vector<chunk_source> sources;  // by chunk
    std::vector<float> parameters;      // as last read
    runtime::call_wire function{};
    std::vector<runtime::call_wire> results;  // by chunk
    // Version buffers that this worker has opened, by shard and moves.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> device_buffers;
    // Of a table of rows; what is a chunk elsewhere is all rows of a part (row_ids.hpp).
    std::shared_ptr<actors::worker_rows> rows;
    std::vector<std::uint64_t> ids;  // of all parts, one after the other

    std::uint64_t first_of(const policies::chunk_place& place) const;
    std::uint64_t count_of(const policies::chunk_place& place) const;
    std::uint64_t elements() const;
  };

  void check_source(const table_state& table, const policies::chunk_place& place) const;
  void check_call_of_chunks(const table_state& table) const;
  void check_call_of_rows(const table_state& table) const;
  memory_view chunk_values(const table_state& table, std::uint32_t chunk) const;
  void write_rows(table_state& table, std::uint64_t key, std::uint32_t half,
                  std::span<float> gradient);
  void spoil(const push& ended);
  static void copy_to_host(table_state& table, std::uint32_t half);
  std::uint32_t epoch_incarnation() const;

  world& world_;
  const process& owner_;
  std::uint32_t rank_;
  std::uint32_t incarnation_;
  policies::worker_welcome welcome_;
  const policies::worker_core* core_ = nullptr;
  std::map<std::uint32_t, table_state> tables_;
  std::size_t chunks_ = 0;              // of all tables
  std::vector<std::byte> device_name_;  // of its gradients; empty: it has no device
  std::map<policies::operation, push> pushes_;
  std::vector<push> exchanged_;  // of exchanges, which end before their pushes
};

}  // namespace tidegate::sim
