// What the shard actor does for its neighbours in the chain of its group.
#include <utility>

#include "actors/errors.hpp"
#include "actors/peer_address.hpp"
#include "actors/shard.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/rare.hpp"
#include "runtime/process/thread_priority.hpp"

namespace tidegate::actors {

namespace log = runtime::log;
using runtime::errc;
using runtime::frame_kind;

namespace {

// Of a seed, among the names of frames that the front has sent.
constexpr std::uint64_t seed_bit = std::uint64_t{1} << 63U;

}  // namespace

// Who was it before is dead, or taken for dead.
void shard::replace(std::optional<chain_link>& neighbour, std::optional<chain_link> by) {
  if (const auto before = std::exchange(neighbour, std::move(by)))
    home().link().disconnect(before->peer);
}

// Steps that wait to be sent are handed over again when the neighbour answers, and what is
// being sent ends soon.
std::optional<shard::peer_id> shard::reconnect(policies::neighbour to) {
  auto& link = to == policies::neighbour::replica ? follower_ : leader_;
  if (!link) return {};
  const auto peer = home().connect(link->address);
  if (!peer) return {};
  std::vector<policies::send_name> dropped;
  front_->sender().drop(link->peer, dropped);
  for (const auto name : dropped) name_sent(name);
  home().link().disconnect(std::exchange(link->peer, *peer));
  return *peer;
}

// By then, whom a primary followed once has been told that it is out, or is dead.
void shard::followed_by(std::optional<chain_link> follower) {
  replace(follower_, std::move(follower));
  if (!replication_->follows()) replace(leader_, {});
}

caf::result<done_atom> shard::lead(const policies::lead_call& call) {
  if (replication_->lead_is_over(call.view)) return done_atom::value;
  // Who asks again for the same view does not hear the first answer.
  if (led_ && call.view != led_view_)
    led_->deliver(to_error({errc::cancelled, "another view has begun"}));
  led_.reset();
  if (call.address.empty()) {
    log::info("no replica from view " + std::to_string(call.view) + " on");
    replication_->lead_nobody(call.view);
    seeding_.clear();
    followed_by({});
    return done_atom::value;
  }
  led_ = make_response_promise<done_atom>();
  auto promise = *led_;
  led_view_ = call.view;
  if (replication_->leads_in(call.view)) {  // another coordinator says it again
    if (replication_->all_there()) in_sync(call.view);
    return promise;
  }
  const auto peer = home().connect(call.address);
  if (!peer) {
    std::exchange(led_, {})->deliver(to_error(peer.error()));
    return promise;
  }
  log::info("leads a replica in view " + std::to_string(call.view) +
            (call.has_all ? "" : ", to which everything is handed over"));
  seeding_.clear();
  replication_->lead(call.view, *peer, call.has_all,
                     share_memory(home().address(), call.address));
  followed_by(chain_link{*peer, call.address});
  return promise;
}

void shard::in_sync(std::uint32_t view) {
  if (view != led_view_ || !led_) return;
  log::info("the replica has everything (view " + std::to_string(view) + ")");
  led_->deliver(done_atom::value);
  led_.reset();
}

caf::result<done_atom> shard::follow(const policies::follow_call& call) {
  if (replication_->follow_is_over(call.view) || replication_->follows_in(call.view))
    return done_atom::value;
  const auto peer = home().connect(call.address);
  if (!peer) return to_error(peer.error());
  log::info("is a replica in view " + std::to_string(call.view));
  replication_->follow(call.view, *peer);
  lent_.clear();
  primary_ = {};
  replace(leader_, chain_link{*peer, call.address});
  // Workers wait for parameters, which the primary has; for what this one does, a clock later.
  runtime::give_way(true);
  return done_atom::value;
}

caf::result<done_atom> shard::promote(const policies::promote_call& call) {
  if (replication_->promote(call.view, call.epoch)) {
    log::info("is the primary since view " + std::to_string(call.view));
    runtime::give_way(false);
    look_soon(is_mending());
  }
  return done_atom::value;
}

// It has been taken for dead: nobody listens to it any more.
void shard::replaced(std::uint32_t view) {
  log::error("another process is the primary since view " + std::to_string(view) +
             "; this one was taken for dead and ends");
  quit(caf::exit_reason::user_shutdown);
}

runtime::buffer shard::place(const runtime::frame_header& header) {
  if (!policies::replication_core::is_mine(header)) return front_->place(header);
  if (header.kind == frame_kind::seed) {
    const auto slot = core_.find_slot(header.job, header.table, header.chunk);
    if (!slot || header.payload_bytes >
                     store_->seed_bytes_max(*slot, jobs_.at(header.job).options.workers))
      return {};
  }
  if (!replication_->place(header)) return {};
  auto room = runtime::buffer();
  if (header.kind == frame_kind::seed || header.kind == frame_kind::lend) {
    seed_pool_.allow(header.payload_bytes, 1);
    room = seed_pool_.lease(header.payload_bytes);
  } else {
    room = store_->memory().lease(header.payload_bytes);
  }
  if (!room) replication_->frame_lost(header);
  return room;
}

void shard::on_frame_lost(const runtime::frame_header& header) {
  if (policies::replication_core::is_mine(header))
    replication_->frame_lost(header);
  else
    front_->on_frame_lost(header);
}

void shard::on_sent(runtime::send_token token) {
  name_sent(front_->sender().on_sent(token));
}

void shard::name_sent(policies::send_name name) {
  if ((name & seed_bit) != 0)
    seeds_.erase(name);
  else
    front_->sent(name);
}

void shard::on_replication(frame_event& event) {
  auto handle = policies::no_payload;
  if (event.payload) handle = store_->memory().keep(std::move(event.payload));
  replication_->frame(event.header, handle);
}

void shard::lend_sums(peer_id to, const runtime::frame_header& header) {
  const auto place = store_->place_of_sums(header.table);
  const auto& wire = sum_names_[header.table] = runtime::encode(place.name);
  auto with_place = header;
  with_place.version = place.bytes;
  with_place.payload_bytes = wire.size();
  home().link().post(to, with_place, wire, 0);
}

bool shard::map_sums(const runtime::frame_header& header, policies::payload_handle place) {
  const auto name = runtime::decode_place(store_->memory().payload_bytes(place));
  store_->memory().release(place);
  constexpr auto planes = shard_store::sum_planes;
  auto opened = name ? primary_.open(*name, header.version, planes, planes)
                     : runtime::expected<runtime::window>(runtime::fail(name.error()));
  if (!opened) {
    log::info("frames are used with the primary: " + opened.error().message());
    return false;
  }
  if (lent_.empty()) log::info("reads the primary's sums in place");
  lent_[header.table] = *opened;
  return true;
}

policies::payload_handle shard::sum_in_place(std::uint32_t slot, std::uint32_t plane) {
  const auto window = lent_.find(core_.name_of(slot).table);
  const auto end = store_->sum_offset(slot) + store_->memory().bytes_of(slot);
  if (window == lent_.end() || end > window->second.bytes || plane >= shard_store::sum_planes)
    return policies::no_payload;
  const auto* at = window->second.at(plane) + store_->sum_offset(slot);
  return store_->memory().keep(reinterpret_cast<const float*>(at));
}

void shard::post_soon() {
  if (!std::exchange(posting_, true)) home().before_progress(*this);
}

void shard::go_on() {
  posting_ = false;
  replication_->post();
}

void shard::send_plain(peer_id to, const runtime::frame_header& header) {
  front_->sender().send(to, header);
}

// Nobody asks when it is sent: the step is answered after that, and its gradient stays.
void shard::send_step(peer_id to, const runtime::frame_header& header,
                      const effects::replicate& what) {
  const auto& memory = store_->memory();
  const auto values = what.payload == policies::no_payload
                          ? store_->sum_of(what.slot, what.clock)
                          : std::span(memory.gradient(what.payload),
                                      memory.bytes_of(what.slot) / sizeof(float));
  front_->sender().send(to, header, std::as_bytes(values),
                        policies::use_order(what.clock, header.table));
}

void shard::send_seed(peer_id to, const runtime::frame_header& header,
                      const effects::seed& what, const policies::shard_core::seed_state& state,
                      bool again) {
  auto& bytes = seeding_[what.slot];
  if (!again || !bytes)
    bytes = std::make_shared<const std::vector<float>>(store_->seed_of(what, state));
  const auto name = seed_bit | ++last_seed_;
  seeds_[name] = bytes;
  auto with_size = header;
  with_size.payload_bytes = bytes->size() * sizeof(float);
  front_->sender().send(to, with_size, std::as_bytes(std::span(*bytes)), 0, name);
}

runtime::expected<policies::shard_core::seed_state> shard::take_seed(
    std::uint32_t slot, policies::payload_handle payload) {
  auto& memory = store_->memory();
  auto seed = store_->take_seed(slot, memory.payload_bytes(payload));
  memory.release(payload);
  if (!seed) return runtime::fail(seed.error());
  return seed->state;
}

}  // namespace tidegate::actors
