// shard_shell: the neighbours in the chain of its group.
#include <utility>

#include "actors/shard/shard_shell.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::frame_kind;
using runtime::status;

namespace {

// Marks seeds among the names of frames that the ingress has sent.
constexpr std::uint64_t seed_bit = std::uint64_t{1} << 63U;

}  // namespace

// The neighbour before is dead, or taken for dead.
void shard_shell::replace(std::optional<chain_link>& neighbour, std::optional<chain_link> by) {
  if (const auto before = std::exchange(neighbour, std::move(by)))
    home_.link().disconnect(before->peer);
}

// Steps that wait to be sent are handed over again when the neighbour answers, and what is
// being sent ends soon.
std::optional<shard_shell::peer_id> shard_shell::reconnect(policies::neighbour to) {
  auto& link = to == policies::neighbour::replica ? follower_ : leader_;
  if (!link) return {};
  const auto peer = home_.connect(link->address);
  if (!peer) return {};
  std::vector<policies::send_name> dropped;
  ingress_.sender().drop(link->peer, dropped);
  for (const auto name : dropped) name_sent(name);
  home_.link().disconnect(std::exchange(link->peer, *peer));
  return *peer;
}

// By then the process that a primary followed once is dead, or knows that it is out.
void shard_shell::followed_by(std::optional<chain_link> follower) {
  replace(follower_, std::move(follower));
  if (!replication_.follows()) replace(leader_, {});
}

void shard_shell::lead(const policies::lead_call& call, completion done) {
  if (replication_.lead_is_over(call.view)) return done({});
  // A coordinator that asks again for the same view does not hear the first answer.
  if (led_ && call.view != led_view_) led_({errc::cancelled, "another view has begun"});
  led_ = nullptr;
  if (call.address.empty()) {
    home_.log(severity::info, "no replica from view " + std::to_string(call.view) + " on");
    replication_.lead_nobody(call.view);
    seeding_.clear();
    followed_by({});
    return done({});
  }
  led_ = std::move(done);
  led_view_ = call.view;
  if (replication_.leads_in(call.view)) {  // another coordinator says it again
    if (replication_.all_there()) in_sync(call.view);
    return;
  }
  const auto peer = home_.connect(call.address);
  if (!peer) return std::exchange(led_, nullptr)(peer.error());
  home_.log(severity::info, "leads a replica in view " + std::to_string(call.view) +
                                (call.has_all ? "" : ", to which everything is handed over"));
  seeding_.clear();
  replication_.lead(call.view, *peer, call.has_all, home_.shares_memory_with(call.address));
  followed_by(chain_link{*peer, call.address});
  replication_.connected_to_replica(home_.now());
  look_soon();
}

void shard_shell::in_sync(std::uint32_t view) {
  if (view != led_view_ || !led_) return;
  home_.log(severity::info, "the replica has everything (view " + std::to_string(view) + ")");
  std::exchange(led_, nullptr)({});
}

status shard_shell::follow(const policies::follow_call& call) {
  if (replication_.follow_is_over(call.view) || replication_.follows_in(call.view)) return {};
  const auto peer = home_.connect(call.address);
  if (!peer) return peer.error();
  home_.log(severity::info, "is a replica in view " + std::to_string(call.view));
  replication_.follow(call.view, *peer);
  memory_.forget_sums();
  reads_sums_ = false;
  replace(leader_, chain_link{*peer, call.address});
  // Workers wait for parameters, which the primary has, and for this process a clock later.
  port_.give_way(true);
  return {};
}

bool shard_shell::promote(const policies::promote_call& call) {
  if (!replication_.promote(call.view, call.epoch)) return false;
  home_.log(severity::info, "is the primary since view " + std::to_string(call.view));
  port_.give_way(false);
  look_soon();
  return true;
}

// It has been taken for dead: nobody listens to it any more.
void shard_shell::replaced(std::uint32_t view) {
  home_.log(severity::error, "another process is the primary since view " +
                                 std::to_string(view) +
                                 "; this one was taken for dead and ends");
  port_.leave();
}

runtime::buffer shard_shell::place(const runtime::frame_header& header) {
  if (!policies::replication_core::is_mine(header)) return ingress_.place(header);
  if (header.kind == frame_kind::seed) {
    const auto slot = core_.registry().find_slot(header.job, header.table, header.chunk);
    // Where this process has not been told of the table yet, the core asks for the seed again.
    if (slot && header.payload_bytes >
                    memory_.seed_bytes_max(*slot, jobs_.at(header.job).options.workers))
      return {};
  }
  if (!replication_.place(header)) return {};
  const bool is_step = header.kind != frame_kind::seed && header.kind != frame_kind::lend;
  auto room = is_step ? memory_.ingress().lease(header.payload_bytes)
                      : memory_.lease_seed(header.payload_bytes);
  if (!room) replication_.frame_lost(header);
  return room;
}

void shard_shell::on_frame_lost(const runtime::frame_header& header) {
  if (policies::replication_core::is_mine(header))
    replication_.frame_lost(header);
  else
    ingress_.on_frame_lost(header);
}

void shard_shell::name_sent(policies::send_name name) {
  if ((name & seed_bit) != 0)
    seeds_.erase(name);
  else
    ingress_.sent(name);
}

void shard_shell::on_replication(frame_event& event) {
  auto handle = policies::no_payload;
  if (event.payload) handle = memory_.ingress().keep(std::move(event.payload));
  replication_.frame(event.header, handle);
}

void shard_shell::replicate(const effects::replicate& step) {
  replication_.replicate(step);
  look_soon();
}

void shard_shell::replicate_farewell(const effects::replicate_farewell& farewell) {
  replication_.replicate_farewell(farewell);
  look_soon();
}

void shard_shell::lend_sums(peer_id to, const runtime::frame_header& header) {
  const auto place = memory_.place_of_sums(header.table);
  const auto& wire = sum_names_[header.table] = place.wire;
  auto with_place = header;
  with_place.version = place.bytes;
  with_place.payload_bytes = wire.size();
  home_.link().post(to, with_place, wire, 0);
}

bool shard_shell::map_sums(const runtime::frame_header& header,
                           policies::payload_handle place) {
  const auto mapped =
      memory_.map_sums(header.table, header.version, memory_.payload_bytes(place));
  memory_.ingress().release(place);
  if (!mapped.ok())
    home_.log(severity::info, "frames are used with the primary: " + mapped.message());
  else if (!std::exchange(reads_sums_, true))
    home_.log(severity::info, "reads the primary's sums in place");
  return mapped.ok();
}

void shard_shell::post_soon() {
  if (!std::exchange(posting_, true)) home_.before_progress(*this);
}

void shard_shell::go_on() {
  posting_ = false;
  replication_.post();
}

// Nobody asks when it is sent: the replica answers a step after that, and the gradient stays.
void shard_shell::send_step(peer_id to, const runtime::frame_header& header,
                            const effects::replicate& step) {
  const auto values = step.payload == policies::no_payload
                          ? memory_.sum_of(step.slot, step.clock)
                          : memory_.gradient(step.slot, step.payload);
  ingress_.sender().send(to, header, std::as_bytes(values),
                         policies::use_order(step.clock, header.table));
}

void shard_shell::send_seed(peer_id to, const runtime::frame_header& header,
                            const effects::seed& chunk,
                            const policies::shard_core::seed_state& state, bool again) {
  auto& bytes = seeding_[chunk.slot];
  if (!again || !bytes)
    bytes = std::make_shared<const std::vector<float>>(memory_.seed_of(chunk, state));
  const auto name = seed_bit | ++last_seed_;
  seeds_[name] = bytes;
  auto with_size = header;
  with_size.payload_bytes = bytes->size() * sizeof(float);
  ingress_.sender().send(to, with_size, std::as_bytes(std::span(*bytes)), 0, name);
}

runtime::expected<policies::shard_core::seed_state> shard_shell::take_seed(
    std::uint32_t slot, policies::payload_handle payload) {
  auto seed = memory_.take_seed(slot, memory_.payload_bytes(payload));
  memory_.ingress().release(payload);
  if (!seed) return runtime::fail(seed.error());
  return seed->state;
}

}  // namespace tidegate::actors
