// A simulated shard and the other process of its group; see actors/shard_replica.
#include <algorithm>
#include <cstring>
#include <utility>

#include "policies/chunk_seed.hpp"
#include "runtime/base/limits.hpp"
#include "tests/sim/launcher.hpp"
#include "tests/sim/shard.hpp"

namespace tidegate::sim {

namespace kernels = runtime::kernels;
using runtime::frame_kind;

// Whom this one led, and whoever follows that one, up to whom it leads now.
void shard_process::put_out_behind(process_id who) const {
  while (who != 0 && who != replica_ && !world_.check.is_out(who)) {
    world_.check.put_out(who);
    const auto* one = world_.find_as<shard_process>(who);
    who = one ? one->replica_ : 0;
  }
}

void shard_process::lead(const policies::lead_call& call, const answer_to& reply) {
  if (replication_.lead_is_over(call.view)) return reply({});
  if (led_) std::exchange(led_, nullptr)({{runtime::errc::cancelled, "another view"}, {}});
  put_out_behind(std::exchange(replica_, id_of(call.address)));
  if (call.address.empty()) {
    replication_.lead_nobody(call.view);
    return reply({});
  }
  led_view_ = call.view;
  led_ = reply;
  if (replication_.leads_in(call.view)) {
    if (replication_.all_there()) in_sync(call.view);
    return;
  }
  note("leads " + call.address + " in view " + std::to_string(call.view));
  replication_.lead(call.view, id_of(call.address), call.has_all,
                    shares_memory_with(call.address));
  look_again();
}

void shard_process::in_sync(std::uint32_t view) {
  if (view == led_view_ && led_) std::exchange(led_, nullptr)({});
}

// What is acknowledged is in the whole chain, but for one that is being given everything. What
// was decided before its neighbour was replaced is of the neighbour before.
void shard_process::check_behind(std::uint32_t slot, std::uint32_t rank,
                                 std::uint64_t clock) const {
  const auto name = core_.name_of(slot);
  for (const auto* one = this;
       one->replication_.leads_in(one->led_view_) && one->replication_.all_there();) {
    const auto* next = world_.find_as<shard_process>(one->replica_);
    if (!next || world_.check.is_out(id()) || world_.check.is_out(next->id())) return;
    const auto there = next->core_.find_slot(name.job, name.table, name.chunk);
    // Under bsp a step has the pushes of all.
    const auto has = there ? next->core_.progress(*there) : policies::shard_core::cut_state();
    const bool is_bsp = jobs_.at(name.job).is_bsp;
    if (!there || (is_bsp ? has.version : has.ranks[rank].next) <= clock)
      world_.check.fail(
          "replicas", this->name() + " acknowledges rank " + std::to_string(rank) + " clock " +
                          std::to_string(clock) + ", which " + next->name() + " lacks");
    one = next;
  }
}

void shard_process::follow(const policies::follow_call& call) {
  if (replication_.follow_is_over(call.view) || replication_.follows_in(call.view)) return;
  follows_ = true;
  if (const auto before = std::exchange(primary_, id_of(call.address)); before != primary_)
    world_.check.put_out(before);
  note("follows " + call.address + " in view " + std::to_string(call.view));
  replication_.follow(call.view, id_of(call.address));
  lent_.reset();
}

// Who is to serve the shard, unless others have heard of a later one.
process_id shard_process::serves_since(std::uint64_t epoch) {
  auto& [latest, who] = world_.primaries[index_];
  if (epoch < latest) {
    world_.check.put_out(id());
    return 0;
  }
  latest = epoch;
  return std::exchange(who, id());
}

// Those of the chain before this one; the living ones of them.
std::set<process_id> shard_process::put_out_before(process_id served) {
  std::set<process_id> before;
  for (const auto* one = this; one != nullptr && !before.contains(one->primary_);
       one = world_.find_as<shard_process>(one->primary_)) {
    world_.check.put_out(one->primary_);
    before.insert(one->primary_);
  }
  if (served != id()) {
    world_.check.put_out(served);
    before.insert(served);
  }
  std::erase_if(before, [&](process_id one) { return !world_.net.lives(one); });
  return before;
}

void shard_process::promote(const policies::promote_call& call) {
  if (!replication_.promote(call.view, call.epoch)) return;
  note("is promoted in view " + std::to_string(call.view));
  follows_ = false;
  mend_soon();
  const auto served = serves_since(call.epoch);
  const bool is_late = world_.check.is_out(id());
  const auto before = is_late ? std::set<process_id>() : put_out_before(served);
  for (std::uint32_t slot = 0; slot < chunks_.size(); ++slot) {
    const auto& chunk = chunks_[slot];
    const auto table = memory_.table_of(slot);
    const auto number = memory_.chunk_of(slot);
    const auto values = memory_.parameters(slot, core_.plane_of(slot)).values();
    if (is_late)
      world_.check.promoted_late(id(), chunk.job, table, number, core_.progress(slot), values);
    else if (world_.check.knows(chunk.job, table, number))
      world_.check.promoted(chunk.job, table, number, core_.progress(slot), values, before);
    else if (core_.progress(slot).version > 0)  // its primary never opened it
      world_.check.restore_chunk(chunk.job, table, chunk.about.table, number,
                                 core_.progress(slot).ranks, values);
    else
      world_.check.open_chunk(chunk.job, table, chunk.about.table, number,
                              chunk.about.optimizer, values);
  }
}

void shard_process::replaced(std::uint32_t view) {
  note("is replaced since view " + std::to_string(view));
  launcher::of(world_).exits(id(), false);
}

memory_view shard_process::place_replication(const runtime::frame_header& header) {
  if (!replication_.place(header)) return {};
  const auto floats = header.payload_bytes / sizeof(float);
  return {std::make_shared<std::vector<float>>(floats), 0, floats};
}

void shard_process::on_replication(process_id from, const runtime::frame_header& header,
                                   memory_view arrived) {
  auto handle = policies::no_payload;
  if (arrived) handle = memory_.keep({std::move(arrived), {}}, false);
  from_ = from;
  replication_.frame(header, handle);
  if (header.kind == frame_kind::step || header.kind == frame_kind::steps)
    spoil_planes(header.table);
  if (header.kind == frame_kind::farewell) look_again();
}

void shard_process::replication_lost(const runtime::frame_header& header) {
  replication_.frame_lost(header);
}

void shard_process::replicate(const effects::replicate& what) {
  replication_.replicate(what);
  look_again();
}

void shard_process::replicate_farewell(const effects::replicate_farewell& what) {
  replication_.replicate_farewell(what);
  look_again();
}

void shard_process::connection_broke(process_id peer) {
  if (!replication_.connection_broke(peer, local_now()))
    return front_process::connection_broke(peer);
  note("lost the connection to a process of its chain");
  mend_soon();
}

std::optional<shard_process::peer_id> shard_process::reconnect(policies::neighbour to) {
  const auto peer = to == policies::neighbour::replica ? replica_ : primary_;
  if (peer == 0) return {};
  std::vector<policies::send_name> dropped;
  sender_.drop(peer, dropped);
  for (const auto name : dropped) front_.sent(name);
  world_.net.reconnect(id(), peer);
  return peer;
}

// Frames may be lost here.
void shard_process::look_again() {
  if (looking_ || !world_.loses_frames() || !replication_.leads()) return;
  looking_ = true;
  later(world_.plan.set.look, [this] {
    looking_ = false;
    replication_.tick(local_now());
    if (replication_.is_busy()) look_again();
  });
}

memory_view shard_process::sum_room(std::uint32_t slot, std::uint64_t clock) {
  constexpr auto window = runtime::limits::clocks_in_flight_max;
  auto& out = (*sums_)[{memory_.table_of(slot), memory_.chunk_of(slot), clock % window}];
  if (!out) out = std::make_shared<std::vector<float>>(bytes_of(slot) / sizeof(float));
  return {out, 0, out->size()};
}

memory_view shard_process::keep_sum(const effects::apply& what,
                                    const std::vector<kernels::gradient>& of) {
  auto out = sum_room(what.slot, what.clock);
  kernels::tree_sum(of, out.values().data(), out.values().size());
  return out;
}

void shard_process::keep_sum(const effects::replicate& what) {
  const auto* payload = memory_.find(what.payload);
  if (!payload)
    return world_.check.fail("given back", name() + " replicates what was given back");
  const auto from = payload->values.values();
  std::copy(from.begin(), from.end(), sum_room(what.slot, what.clock).values().begin());
}

bool shard_process::map_sums(const runtime::frame_header&, policies::payload_handle) {
  const auto* primary = world_.find_as<shard_process>(from_);
  if (!primary || (world_.plan.no_window > 0 && world_.chance.chance(world_.plan.no_window)))
    return false;
  lent_ = primary->sums_;
  return true;
}

policies::payload_handle shard_process::sum_in_place(std::uint32_t slot, std::uint32_t plane) {
  if (!lent_) return policies::no_payload;
  const auto at = lent_->find({memory_.table_of(slot), memory_.chunk_of(slot), plane});
  if (at == lent_->end()) return policies::no_payload;
  return memory_.keep({{at->second, 0, at->second->size()}, {}}, false);
}

void shard_process::post_soon() {
  if (posting_) return;
  posting_ = true;
  later(0, [this] {
    posting_ = false;
    replication_.post();
  });
}

void shard_process::send_step(peer_id to, const runtime::frame_header& header,
                              const effects::replicate& what) {
  memory_view values;
  if (what.payload == policies::no_payload) {
    values = sum_room(what.slot, what.clock);
  } else if (const auto* payload = memory_.find(what.payload)) {
    values = payload->values;
  } else {
    return world_.check.fail("given back", name() + " replicates what was given back");
  }
  sender_.send(to, header, std::move(values), policies::use_order(what.clock, header.table));
}

void shard_process::send_seed(peer_id to, const runtime::frame_header& header,
                              const effects::seed& what,
                              const policies::shard_core::seed_state& state, bool again) {
  auto& bytes = seeds_[what.slot];
  if (!again) {
    const auto& chunk = chunks_.at(what.slot);
    policies::chunk_seed seed;
    seed.state = state;
    seed.beta1_power = chunk.powers.beta1;
    seed.beta2_power = chunk.powers.beta2;
    seed.states = 2;
    seed.elements = bytes_of(what.slot) / sizeof(float);
    bytes = std::make_shared<std::vector<float>>(seed_bytes(seed) / sizeof(float));
    const auto into = std::as_writable_bytes(std::span(*bytes));
    encode_seed(seed, into);
    const auto put = [&](std::size_t i, std::span<const float> values) {
      std::copy(values.begin(), values.end(), seed_array(seed, into, i).begin());
    };
    put(0, memory_.parameters(what.slot, what.plane).values());
    put(1, chunk.state1);
    put(2, chunk.state2);
    for (std::size_t i = 0; i < state.kept.size(); ++i)
      put(3 + i, memory_.parameters(what.slot, what.kept[i]).values());
  }
  auto with_size = header;
  with_size.payload_bytes = bytes->size() * sizeof(float);
  sender_.send(to, with_size, {bytes, 0, bytes->size()}, 0);
  look_again();
}

runtime::expected<policies::shard_core::seed_state> shard_process::take_seed(
    std::uint32_t slot, policies::payload_handle payload) {
  using core = policies::shard_core;
  const auto values = memory_.find(payload)->values;
  const auto bytes = std::as_bytes(std::span(std::as_const(*values.where)));
  const auto seed = policies::decode_seed(bytes);
  auto& chunk = chunks_.at(slot);
  if (!seed) {
    release(payload);
    return runtime::fail(seed.error());
  }
  const auto take = [&](std::size_t i, std::span<float> into) {
    const auto from = seed_array(*seed, bytes, i);
    std::copy(from.begin(), from.end(), into.begin());
  };
  const auto now = memory_.room(slot, core::seed_plane, true).values();
  take(0, now);
  take(1, chunk.state1);
  take(2, chunk.state2);
  for (std::size_t i = 0; i < seed->state.kept.size(); ++i)
    take(3 + i, memory_.room(slot, core::kept_plane(i), false).values());
  chunk.powers = {seed->beta1_power, seed->beta2_power};
  const auto table = memory_.table_of(slot);
  const auto number = memory_.chunk_of(slot);
  // One between may hand over what the primary has not opened yet.
  const bool may_be_first =
      seed->state.now.version == 0 && !world_.check.knows(chunk.job, table, number);
  if (!world_.check.is_out(id()) && !may_be_first)
    world_.check.followed(chunk.job, table, number, now);
  release(payload);
  return seed->state;
}

}  // namespace tidegate::sim
