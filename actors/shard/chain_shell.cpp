#include "actors/shard/chain_shell.hpp"

#include <span>
#include <utility>
#include <vector>

#include "actors/shard/row_check.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::frame_kind;
using runtime::status;

chain_shell::chain_shell(shell_home& home, shard_memory& memory, shard_port& port,
                         policies::shard_core& shard, ingress_shell& ingress)
    : home_(home),
      memory_(memory),
      port_(port),
      shard_(shard),
      ingress_(ingress),
      core_(*this, shard, ingress.core()) {
  core_.set_retransmit_limits(home.limits().retransmit);
  core_.set_reconnect_limits(home.limits().reconnects);
}

void chain_shell::job_opened(std::uint64_t token, std::uint32_t workers) {
  core_.job_opened(token);
  workers_[token] = workers;
}

// The neighbour before is dead, or taken for dead.
void chain_shell::replace(std::optional<chain_link>& neighbour, std::optional<chain_link> by) {
  if (const auto before = std::exchange(neighbour, std::move(by)))
    home_.link().disconnect(before->peer);
}

// Steps that wait to be sent are handed over again when the neighbour answers, and what is
// being sent ends soon.
std::optional<chain_shell::peer_id> chain_shell::reconnect(policies::neighbour to) {
  auto& link = link_to(to);
  if (!link) return {};
  const auto peer = home_.connect(link->address);
  if (!peer) return {};
  std::vector<policies::send_name> dropped;
  ingress_.frames().drop(link->peer, dropped);
  for (const auto name : dropped)
    if (!sent(name)) ingress_.sent(name);
  home_.link().disconnect(std::exchange(link->peer, *peer));
  return *peer;
}

// By then the process that a primary followed once is dead, or knows that it is out.
void chain_shell::followed_by(std::optional<chain_link> follower) {
  replace(follower_, std::move(follower));
  if (!core_.follows()) replace(leader_, {});
}

bool chain_shell::lead(const policies::lead_call& call, completion done) {
  if (core_.lead_is_over(call.view)) {
    done({});
    return false;
  }
  // A coordinator that asks again for the same view does not hear the first answer.
  if (led_ && call.view != led_view_) led_({errc::cancelled, "another view has begun"});
  led_ = nullptr;
  if (call.address.empty()) {
    lead_nobody(call.view);
    done({});
    return false;
  }
  led_ = std::move(done);
  led_view_ = call.view;
  if (core_.leads_in(call.view)) {  // another coordinator says it again
    if (core_.all_there()) in_sync(call.view);
    return false;
  }
  const auto peer = home_.connect(call.address);
  if (!peer) {
    std::exchange(led_, nullptr)(peer.error());
    return false;
  }
  home_.log(severity::info, "leads a replica in view " + std::to_string(call.view) +
                                (call.has_all ? "" : ", to which everything is handed over"));
  seeds_.forget_all();
  core_.lead(call.view, *peer, call.has_all, home_.shares_memory_with(call.address));
  ingress_.arrivals().wait_for_replica(core_.steps_wait());
  followed_by(chain_link{*peer, call.address});
  core_.connected_to_replica(home_.now());
  return true;
}

void chain_shell::lead_nobody(std::uint32_t view) {
  home_.log(severity::info, "no replica from view " + std::to_string(view) + " on");
  core_.lead_nobody(view);
  ingress_.arrivals().wait_for_replica(core_.steps_wait());
  seeds_.forget_all();
  followed_by({});
}

void chain_shell::in_sync(std::uint32_t view) {
  if (view != led_view_ || !led_) return;
  home_.log(severity::info, "the replica has everything (view " + std::to_string(view) + ")");
  std::exchange(led_, nullptr)({});
}

status chain_shell::follow(const policies::follow_call& call) {
  if (core_.follow_is_over(call.view) || core_.follows_in(call.view)) return {};
  const auto peer = home_.connect(call.address);
  if (!peer) return peer.error();
  home_.log(severity::info, "is a replica in view " + std::to_string(call.view));
  core_.follow(call.view, *peer);
  memory_.forget_sums();
  reads_sums_ = false;
  replace(leader_, chain_link{*peer, call.address});
  // Workers wait for parameters, which the primary has, and for this process a clock later.
  port_.give_way(true);
  return {};
}

bool chain_shell::promote(const policies::promote_call& call) {
  if (!core_.promote(call.view, call.epoch)) return false;
  home_.log(severity::info, "is the primary since view " + std::to_string(call.view));
  port_.give_way(false);
  return true;
}

// It has been taken for dead: nobody listens to it any more.
void chain_shell::replaced(std::uint32_t view) {
  home_.log(severity::error, "another process is the primary since view " +
                                 std::to_string(view) +
                                 "; this one was taken for dead and ends");
  port_.leave();
}

runtime::buffer chain_shell::place(const runtime::frame_header& header) {
  if (header.kind == frame_kind::seed) {
    const auto slot = shard_.registry().find_slot(header.job, header.table, header.chunk);
    // Where this process has not been told of the table yet, the core asks for the seed again.
    if (slot && header.payload_bytes > memory_.seed_bytes_max(*slot, workers_.at(header.job)))
      return {};
  }
  if (!core_.place(header)) return {};
  const bool is_step = header.kind != frame_kind::seed && header.kind != frame_kind::lend;
  const bool has_rows = is_step && shard_.registry().has_rows(header.table);
  auto room = has_rows  ? lease_rows(shard_, memory_.ingress(), header)
              : is_step ? memory_.ingress().lease(header.payload_bytes)
                        : memory_.lease_seed(header.payload_bytes);
  if (!room) core_.frame_lost(header);
  return room;
}

void chain_shell::on_frame(frame_event& event) {
  const arrival_reports::work work(ingress_.arrivals(), event.header);
  auto handle = policies::no_payload;
  if (take_rows(shard_, memory_.ingress(), home_, event.header, event.payload,
                "the process before") != runtime::errc::ok)
    return core_.frame_lost(event.header);
  if (event.header.kind == frame_kind::step || event.header.kind == frame_kind::seed)
    ingress_.arrivals().count_in(event.payload.bytes().size());
  if (event.payload) handle = memory_.ingress().keep(std::move(event.payload));
  core_.frame(event.header, handle);
  ingress_.arrivals().wait_for_replica(core_.steps_wait());
}

// A neighbour that has died is another's affair: the coordinator closes the chain.
bool chain_shell::on_peer_lost(const peer_lost_event& event) {
  if (event.ended || !core_.connection_broke(event.peer, home_.now())) return false;
  home_.log(severity::info, "lost the connection to a process of this shard's chain: " +
                                event.why + "; it is made again");
  return true;
}

void chain_shell::add_outages(outage_watch& watch) const {
  watch.add(core_, [this](policies::neighbour to) {
    const auto& link = link_to(to);
    return link ? link->address : std::string();
  });
}

void chain_shell::close() {
  // The completion keeps the adapter alive: it is called, and let go.
  if (led_) std::exchange(led_, nullptr)({errc::cancelled, "the shard ends"});
  home_.forget(*this);
}

void chain_shell::lend_sums(peer_id to, const runtime::frame_header& header) {
  const auto place = memory_.place_of_sums(header.table);
  const auto& wire = sum_names_[header.table] = place.wire;
  auto with_place = header;
  with_place.version = place.bytes;
  with_place.payload_bytes = wire.size();
  home_.link().post(to, with_place, wire, 0);
}

bool chain_shell::map_sums(const runtime::frame_header& header,
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

void chain_shell::post_soon() {
  if (!std::exchange(posting_, true)) home_.before_progress(*this);
}

void chain_shell::go_on() {
  posting_ = false;
  core_.post();
}

// Nobody asks when it is sent: the replica answers a step after that, and the gradient stays.
void chain_shell::send_step(peer_id to, const runtime::frame_header& header,
                            const effects::replicate& step) {
  const auto values = step.payload == policies::no_payload
                          ? memory_.sum_of(step.slot, step.clock)
                          : memory_.gradient(step.slot, step.payload);
  auto with_size = header;
  with_size.payload_bytes = values.size_bytes();
  ingress_.frames().send(to, with_size, std::as_bytes(values),
                         policies::use_order(step.clock, header.table));
}

void chain_shell::send_seed(peer_id to, const runtime::frame_header& header,
                            const effects::seed& chunk,
                            const policies::shard_core::seed_state& state, bool retransmit) {
  if (!retransmit || !seeds_.has(chunk.slot))
    seeds_.keep(chunk.slot, memory_.seed_of(chunk, state));
  const auto copy = seeds_.send(chunk.slot);
  auto with_size = header;
  with_size.payload_bytes = copy.values.size_bytes();
  ingress_.frames().send(to, with_size, std::as_bytes(copy.values), 0, copy.name);
}

runtime::expected<policies::shard_core::seed_state> chain_shell::take_seed(
    std::uint32_t slot, policies::payload_handle payload) {
  auto seed = memory_.take_seed(slot, memory_.payload_bytes(payload));
  memory_.ingress().release(payload);
  if (!seed) return runtime::fail(seed.error());
  return seed->state;
}

}  // namespace tidegate::actors
