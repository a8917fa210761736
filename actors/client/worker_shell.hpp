// The shell of a worker: carries out what policies::client_core decides for the program's
// session, over a link to shards or an aggregator. Of the home's thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/seam/frame_sender.hpp"
#include "actors/seam/frame_shell.hpp"
#include "actors/seam/look_schedule.hpp"
#include "actors/seam/outage_watch.hpp"
#include "actors/seam/sent_payload.hpp"
#include "actors/seam/shell_home.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/worker/answer_book.hpp"
#include "policies/worker/client_core.hpp"
#include "runtime/base/status.hpp"
#include "runtime/transport/device_places.hpp"

namespace tidegate::actors {

// The memory of a session's tables, by their ids.
class worker_memory {
 public:
  virtual ~worker_memory() = default;

  // Where shards of this host read the gradients.
  virtual runtime::place_wire place_of_gradients(std::uint32_t table) const = 0;
  // What a push of a chunk sends, until it is acknowledged: its elements, or the batch of a
  // part of a table of rows. And what a call sends, which stays mapped: that of the chunk that
  // is under way, or the request of rows of a part. Of rows list_of() comes first. `moves`: of
  // a shard on this host, how often it has moved.
  virtual sent_payload payload_of(const policies::worker_effects::send& send,
                                  std::optional<std::uint32_t> moves) = 0;
  // The list of ids that a push or a call of rows is sent with, where they are coded: to shards
  // that are not on this host (`is_here`).
  virtual std::optional<policies::sent_list> list_of(
      const policies::worker_effects::send& /*send*/, bool /*is_here*/) {
    return std::nullopt;
  }
  // Where the parameters of a chunk arrive. Empty: nobody wants them.
  virtual std::span<std::byte> room_for(const policies::chunk_place& chunk,
                                        std::uint32_t table) = 0;
  // Where so many bytes of the results of a call arrive. Empty: nobody wants them.
  virtual std::span<std::byte> room_for_results(const policies::chunk_place& chunk,
                                                std::uint32_t table, std::uint64_t bytes) = 0;
  // The part of a table on a shard, which has moved so often, may be read where `place` says.
  // Errors: unavailable, corrupt.
  virtual runtime::status map_parameters(std::uint32_t table, const policies::table_part& part,
                                         std::uint32_t moves,
                                         std::span<const std::byte> place) = 0;

  // Of tables on a device, as the functions of client_shell of these names. Returns where
  // gradients lie there, in bytes of device_places; empty: not on a device.
  virtual std::span<const std::byte> device_gradients(std::uint32_t /*table*/) const {
    return {};
  }
  // Errors: unavailable, corrupt.
  virtual runtime::status map_on_device(std::uint32_t /*table*/,
                                        const policies::table_part& /*part*/,
                                        std::uint32_t /*moves*/,
                                        std::span<const std::byte> /*places*/) {
    return {runtime::errc::unavailable, "no device"};
  }
  virtual std::uint64_t device_buffers(std::uint32_t /*table*/, std::uint32_t /*shard*/,
                                       std::uint32_t /*moves*/) const {
    return 0;
  }
  virtual bool pulls_on_device(std::uint32_t /*table*/) const { return false; }
  // Returns true if something goes on here while nobody waits for it.
  virtual bool works_by_itself() const { return false; }
};

// Who asked for the operations: told in turns of the shell, and may begin others then.
class worker_owner {
 public:
  virtual ~worker_owner() = default;

  virtual void opened(std::uint32_t table) = 0;
  virtual void done(policies::operation op, policies::reply_code code) = 0;
  // Parameters were copied on their way.
  virtual void copied(std::uint64_t bytes) = 0;
  // A frame has been handled, before what it ends is done.
  virtual void progressed() = 0;
  // A clock of the worker has closed, by shard: answer_book::sums(). Not where there is one.
  virtual void answered(std::span<const policies::rank_arrivals> /*shards*/) {}
  // Nothing works any more: no operation ends that has not, and none of their memory is in use.
  virtual void failed(const runtime::status& why) = 0;
};

class worker_shell final : public frame_shell, private policies::client_shell {
 public:
  // All of them outlive it.
  worker_shell(shell_home& home, worker_memory& memory, worker_owner& owner,
               policies::state_port& state, const policies::worker_welcome& welcome,
               std::uint32_t rank, std::uint32_t incarnation);

  // Connects to all shards. What cannot be reached is the reason of broken().
  void start();
  // client_core::mirrored().
  void mirrored(std::uint64_t request);
  // Another may take the place of those that it pushes to.
  bool shards_move() const noexcept { return shards_move_; }
  void shard_moved(const policies::shard_moved& moved);
  // client_core::open, of a table whose memory is there.
  void open(std::uint32_t table, std::vector<policies::chunk_place> places,
            bool has_rows = false);
  // Begins an operation: see client_core::begin. carry_out() follows.
  template <class Call>
  runtime::errc begin(const Call& call) {
    return core_.begin(call);
  }
  void carry_out();
  // Writes a line to the log.
  void note(const std::string& text);
  // Ends everything.
  void fail(const runtime::status& why);
  // Why nothing works any more; ok: it does.
  const runtime::status& broken() const noexcept { return broken_; }

  runtime::buffer place(const runtime::frame_header& header) override;
  void on_sent(runtime::send_token token) override { sender_.on_sent(token); }
  void on_frame_lost(const runtime::frame_header& header) override;
  void on_frame(frame_event& event) override;
  void on_peer_lost(const peer_lost_event& event) override;
  void look() override;

  const policies::worker_core& core() const noexcept { return core_.worker(); }
  // client_core::reads_on_device().
  bool reads_on_device(std::uint32_t table) const { return core_.reads_on_device(table); }
  // answer_book::sums().
  std::span<const policies::rank_arrivals> answers() const noexcept {
    return answers_came_.sums();
  }
  // Gradients that wait to be sent.
  std::size_t waiting() const noexcept { return sender_.waiting(); }

 private:
  std::string name_of(std::uint32_t shard) const;
  bool is_here(std::uint32_t shard) const {
    return home_.shares_memory_with(addresses_[shard]);
  }
  // Notes when the answer of a pull or push came.
  void note_answer(const runtime::frame_header& header, std::int64_t now);
  void send_payload(const policies::worker_effects::send& send, runtime::frame_header header,
                    std::uint64_t priority);
  void look_soon() {
    looks_.ask(core_.is_mending(), [this] { return core_.is_busy(); });
  }

  // Turns must come while nobody waits: see reactor::run_in_background.
  void set_background() {
    home_.run_in_background(!core_.attached_everywhere() || memory_.works_by_itself() ||
                            mirrors_);
  }

  void send(std::uint32_t shard, const runtime::frame_header& header) override {
    sender_.send(shards_[shard], header);
  }
  void send_place(std::uint32_t shard, const runtime::frame_header& header) override;
  void send_gradient(const policies::worker_effects::send& push,
                     const runtime::frame_header& header, std::uint64_t priority) override;
  void send_call(const policies::worker_effects::send& call,
                 const runtime::frame_header& header) override;
  std::optional<policies::sent_list> list_of(
      const policies::worker_effects::send& send) override {
    return memory_.list_of(send, is_here(send.shard));
  }
  bool map_parameters(std::uint32_t table, const policies::table_part& part,
                      std::span<const std::byte> place) override;
  bool is_on_device(std::uint32_t table) const override {
    return !memory_.device_gradients(table).empty();
  }
  void send_device_places(std::uint32_t shard, const runtime::frame_header& header) override;
  bool map_on_device(std::uint32_t table, const policies::table_part& part,
                     std::span<const std::byte> places) override;
  std::uint64_t device_buffers(std::uint32_t table, std::uint32_t shard) const override {
    return memory_.device_buffers(table, shard, core_.worker().tables().moves_of(shard));
  }
  bool pulls_on_device(std::uint32_t table) const override {
    return memory_.pulls_on_device(table);
  }
  void opened(std::uint32_t table) override;
  void done(policies::operation op, policies::reply_code code) override {
    owner_.done(op, code);
  }
  void let_go() override;
  bool reconnect(std::uint32_t shard) override;
  void drop_waiting(std::uint32_t shard) override;
  void copied(std::uint64_t bytes) override { owner_.copied(bytes); }

  shell_home& home_;
  const bool records_ = home_.records();
  worker_memory& memory_;
  worker_owner& owner_;
  bool aggregated_;
  bool shards_move_;
  bool mirrors_;  // what waits for a copy of the state is sent while nobody waits
  frame_sender sender_;
  look_schedule looks_{home_};
  outage_watch outages_{home_};
  policies::client_core core_;
  policies::answer_book answers_came_;
  std::vector<std::string> addresses_;  // of shards
  std::vector<runtime::peer_id> shards_;
  std::map<std::uint32_t, runtime::place_wire> places_;   // of gradients, as sent to shards
  std::map<std::uint64_t, runtime::place_wire> answers_;  // to attach, as they arrive
  // To device_attach, likewise.
  std::map<std::uint64_t, std::array<std::byte, runtime::device_places_bytes_max>>
      device_answers_;
  std::vector<runtime::send_token> dropped_;
  runtime::status broken_;
};

}  // namespace tidegate::actors
