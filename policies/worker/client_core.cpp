#include "policies/worker/client_core.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/clock_vector.hpp"
#include "policies/protocol/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::frame_header;
using runtime::frame_kind;

namespace {

// Chunks may have pushes of this rank that this process has not made. Those of processes before
// it are of the clocks in flight; a checkpoint of a policy without exact versions cuts chunks
// where each of them is.
std::uint64_t certain_from(const worker_welcome& welcome, std::uint32_t incarnation) {
  constexpr std::uint32_t first_epoch = 1;
  if (welcome.epoch > first_epoch && welcome.policy != "bsp") return clock_vector::infinity;
  return incarnation > 1 ? welcome.first_clock + runtime::limits::clocks_in_flight_max : 0;
}

}  // namespace

client_core::client_core(client_shell& shell, state_port& state, const worker_welcome& welcome,
                         std::uint32_t rank, std::uint32_t incarnation)
    : shell_(shell),
      state_(state),
      token_(welcome.token),
      epochs_(welcome.shard_epochs),
      workers_(welcome.capacity),
      rank_(rank),
      incarnation_(incarnation),
      shards_move_(welcome.replicated || welcome.aggregated),
      tables_of_job_(welcome.tables),
      worker_(static_cast<std::uint32_t>(welcome.shard_addresses.size()), welcome.first_clock,
              certain_from(welcome, incarnation)),
      attaching_(welcome.shard_addresses.size()) {
  TIDEGATE_ASSERT(epochs_.size() == welcome.shard_addresses.size(), "a shard has an epoch");
  if (welcome.one_clock_in_flight) worker_.set_one_clock_in_flight();
  if (const auto every = state_.mirror_every(); every > 0)
    state_.mirror(mirror_.begin(every, welcome.first_clock));
}

// A table is open when every shard that shares our memory has looked at it.
void client_core::open(std::uint32_t table, std::vector<chunk_place> places,
                       const std::function<bool(std::uint32_t shard)>& shares, bool has_rows) {
  const auto opened_before = tables_.size();
  const auto [at, fresh] = tables_.try_emplace(table);
  auto& state = at->second;
  if (fresh) state.opened_as = opened_before;
  state.open = false;
  state.has_rows = has_rows;
  norms_.add_table(table, places.size());
  worker_.add_table(table, std::move(places));
  for (const auto& part : worker_.tables().parts_of(table)) {
    if (part.attached) continue;
    if (has_rows || !shares(part.shard)) {
      frames_with_.insert(part.shard);
      continue;
    }
    begin_attach(table, state, part.shard);
  }
  if (state.attaching.empty()) opened(table, state);
}

bool client_core::shard_moved(std::uint32_t shard, std::uint64_t epoch,
                              const std::function<bool(std::uint32_t shard)>& shares) {
  effects_.clear();
  if (shard >= epochs_.size() || epoch <= epochs_[shard]) return false;
  epochs_[shard] = epoch;
  reconnects_.forget(shard);
  if (failed_) return true;
  worker_.shard_moved(shard);
  devices_.shard_moved(shard);
  moving_.insert(shard);
  for (auto& [id, state] : tables_) {
    end_attach(state, shard);
    const auto parts = worker_.tables().parts_of(id);
    const auto here = std::find_if(parts.begin(), parts.end(),
                                   [&](const table_part& part) { return part.shard == shard; });
    if (here == parts.end()) continue;
    for (const auto chunk : here->chunks) norms_.forget(id, chunk);
    for (const auto chunk : here->chunks) lists_.forget(id, chunk);
    if (state.has_rows || !shares(shard)) {
      frames_with_.insert(shard);
      if (state.attaching.empty()) opened(id, state);
      continue;
    }
    begin_attach(id, state, shard);
  }
  end_move(shard);
  return true;
}

void client_core::begin_attach(std::uint32_t table, table_state& state, std::uint32_t shard) {
  if (state.attaching.insert(shard).second) ++attaching_[shard];
  shell_.send_place(shard, header_for(frame_kind::attach, table, shard));
}

// Returns whether it had begun and not ended.
bool client_core::end_attach(table_state& state, std::uint32_t shard) {
  if (state.attaching.erase(shard) == 0) return false;
  --attaching_[shard];
  return true;
}

// When all tables that have chunks there are mapped, or never will be.
void client_core::end_move(std::uint32_t shard) {
  if (attaching_[shard] > 0 || moving_.erase(shard) == 0) return;
  mirror_.drop(shard);
  worker_.retransmit(shard, effects_);
}

void client_core::reply_lost(const frame_header& header) {
  effects_.clear();
  // A refusal never had a place.
  if (failed_ || !answers_pull(header) || header.code != 0 || header.job != token_ ||
      header.incarnation != incarnation_ || header.shard >= epochs_.size())
    return;
  if (!worker_.cancel_reply(header.table, header.chunk, header.request)) return;
  if (moving_.contains(header.shard)) return;  // it is asked for when the shard has moved
  worker_.resend_unanswered({.table = header.table, .shard = header.shard}, effects_);
}

bool client_core::is_busy() const {
  return !failed_ && (worker_.is_busy() || devices_.is_waiting() ||
                      std::any_of(attaching_.begin(), attaching_.end(),
                                  [](auto tables) { return tables > 0; }));
}

void client_core::tick(std::int64_t now) {
  effects_.clear();
  if (failed_) return;
  // What has not left cannot be lost; what has left before is sent again soon enough.
  if (!mirror_.waits()) worker_.tick(now, effects_);
  for (auto& [id, state] : tables_) {
    if (state.attaching.empty() || !state.attach_retransmit.is_due(now, retransmit_limits_))
      continue;
    TIDEGATE_RARE("client: a shard is asked for its memory again");
    for (const auto shard : state.attaching)
      shell_.send_place(shard, header_for(frame_kind::attach, id, shard));
  }
  devices_.tick(now, retransmit_limits_, [&](std::uint32_t table, std::uint32_t shard) {
    TIDEGATE_RARE("client: a shard is asked for its device's memory again");
    send_device_attach(table, shard);
  });
}

void client_core::opened(std::uint32_t table, table_state& state) {
  if (!std::exchange(state.open, true)) shell_.opened(table);
}

void client_core::on_attached(const frame_header& header, std::span<const std::byte> place) {
  const auto at = tables_.find(header.table);
  if (at == tables_.end() || !end_attach(at->second, header.shard)) return;
  bool attached = false;
  for (const auto& part : worker_.tables().parts_of(header.table))
    if (part.shard == header.shard && header.code == 0)
      attached = shell_.map_parameters(header.table, part, place);
  if (attached) {
    worker_.attach(header.table, header.shard);
    if (shell_.is_on_device(header.table)) ask_device(header.table, header.shard);
  } else {
    TIDEGATE_RARE("client: memory on one host that cannot be shared");
    frames_with_.insert(header.shard);
  }
  if (at->second.attaching.empty()) opened(header.table, at->second);
  end_move(header.shard);
}

bool client_core::is_mine(const frame_header& header) const {
  // Answers carry the epoch of what they answer: a refusal of an earlier one is not ours.
  return header.job == token_ && header.shard < epochs_.size() &&
         header.epoch == epochs_[header.shard] && header.incarnation == incarnation_;
}

bool client_core::expects(const frame_header& header) const {
  if (failed_ || !is_mine(header)) return false;
  if (header.kind == frame_kind::attach_ack) {
    const auto at = tables_.find(header.table);
    return at != tables_.end() && at->second.attaching.contains(header.shard);
  }
  if (header.kind == frame_kind::device_attach_ack)
    return devices_.is_asked(header.table, header.shard);
  return expects_reply(header);
}

bool client_core::expects_reply(const frame_header& header) const {
  if (!answers_pull(header) ||
      !worker_.expects_reply(header.table, header.chunk, header.request))
    return false;
  const bool calls = header.kind == frame_kind::call_reply;
  if (calls != worker_.tables().at(header.table).pull.calls) return false;
  // How long an answer may be is the shell's to know, which has the question.
  if (calls) return true;
  const auto elements = worker_.tables().place_of(header.table, header.chunk).elements;
  return header.payload_bytes == elements * sizeof(float);
}

void client_core::frame(const frame_header& header, std::span<const std::byte> bytes) {
  if (failed_) return;
  if (!is_mine(header)) return reply_lost(header);  // perhaps begun before its shard moved
  effects_.clear();
  const auto code = static_cast<reply_code>(header.code);
  if (shards_move_ && is_not_told(code)) {
    TIDEGATE_RARE("client: a shard that was replaced knows nothing of what is asked");
    return;
  }
  if (const auto refused = lists_.take(header)) {
    TIDEGATE_RARE("client: a list of ids is not kept where it was");
    return worker_.resend_unanswered(*refused, effects_);
  }
  if (header.kind == frame_kind::push_ack && header.chunk == runtime::whole_job) {
    if (worker_.on_finish_ack(header.shard, code, effects_)) shell_.copied(header.version);
  } else if (header.kind == frame_kind::push_ack) {
    worker_.on_ack(header.table, header.chunk, header.clock, code, effects_);
  } else if (answers_pull(header)) {
    if ((header.flags & runtime::frame_flag_applied) != 0)
      worker_.on_ack(header.table, header.chunk, header.clock - 1, reply_code::ok, effects_);
    worker_.on_reply(header.table, header.chunk,
                     {.request = header.request,
                      .code = code,
                      .min_clock = header.min_clock,
                      .version_buffer = 0,
                      .on_device = false},
                     effects_);
  } else if (header.kind == frame_kind::attach_ack) {
    on_attached(header, bytes);
  } else if (header.kind == frame_kind::device_attach_ack) {
    on_device_attached(header, bytes);
  } else if (norm_exchange::is_of_norm(header)) {
    send(norms_.take(header, shards()));
  } else if (header.kind == frame_kind::resend || header.kind == frame_kind::resent) {
    on_resend(header);
  } else {
    on_doorbell(header);
  }
}

// No table is opened after the first push.
bool client_core::has_all_tables() const {
  return worker_.tables().has_pushed() ||
         (tables_of_job_ > 0 && tables_.size() == tables_of_job_);
}

// A shard that moves tells its parts anew.
void client_core::send(const norm_exchange::messages& messages) {
  for (const auto& message : messages) {
    if (moving_.contains(message.shard)) continue;
    auto header = header_for(message.kind, runtime::whole_job, message.shard);
    header.chunk = runtime::whole_job;
    header.clock = message.clock;
    header.squares = message.squares;
    shell_.send(message.shard, header);
  }
}

void client_core::connection_broke(std::uint32_t shard, std::int64_t now) {
  if (!failed_) reconnects_.broke(shard, now);
}

void client_core::connected(std::uint32_t shard, std::int64_t now) {
  if (!failed_) send_resend(frame_kind::resend, shard, reconnects_.begun(shard, now));
}

// Payloads follow when the shard answers: until then nobody knows whether frames come through.
void client_core::mend(std::int64_t now) {
  if (failed_) return;
  reconnects_.attempt_due(now, [&](std::uint32_t shard, std::uint64_t attempt) {
    TIDEGATE_RARE("client: a connection is made again");
    if (!shell_.reconnect(shard)) return false;
    send_resend(frame_kind::resend, shard, attempt);
    return true;
  });
}

// A shard that asks may have lost our attempt, if it had no connection to answer over.
void client_core::on_resend(const frame_header& header) {
  const auto shard = header.shard;
  if (header.kind == frame_kind::resent) {
    const bool lost_nothing = reconnects_.lost_nothing(shard);
    if (reconnects_.answered(shard, header.request) && !lost_nothing) resend(shard);
    return;
  }
  if (header.request != 0) send_resend(frame_kind::resent, shard, header.request);
  reconnects_.lost_something(shard);
  const auto attempt = reconnects_.attempt_of(shard);
  if (attempt != 0) return send_resend(frame_kind::resend, shard, attempt);
  if (!reconnects_.is_broken(shard) && reconnects_.is_unserved(shard, header.request))
    resend(shard);
}

void client_core::send_resend(frame_kind kind, std::uint32_t shard, std::uint64_t attempt) {
  auto header = header_for(kind, runtime::whole_job, shard);
  header.chunk = runtime::whole_job;
  header.flags = runtime::frame_flag_up;
  header.request = attempt;
  shell_.send(shard, header);
}

void client_core::resend(std::uint32_t shard) {
  if (runtime::is_planted(runtime::planted_bug::nothing_resent_after_reconnect)) return;
  for (const auto& [id, state] : tables_)
    if (state.attaching.contains(shard))
      shell_.send_place(shard, header_for(frame_kind::attach, id, shard));
  devices_.for_each_asked(shard,
                          [&](std::uint32_t table) { send_device_attach(table, shard); });
  if (moving_.contains(shard)) return;
  shell_.drop_waiting(shard);
  mirror_.drop(shard);
  worker_.resend(shard, effects_);
}

void client_core::carry_out() {
  if (worker_.failure() != reply_code::ok && !std::exchange(failed_, true)) {
    mirror_.clear();
    shell_.let_go();
  }
  const auto commit = [this] {
    const auto version = std::exchange(effects_.commit, std::nullopt);
    if (!version) return;
    if (!state_.commit(*version)) return;
    if (const auto request = mirror_.committed(*version)) state_.mirror(*request);
  };
  if (!runtime::is_planted(runtime::planted_bug::state_committed_after_the_push)) commit();
  const bool waits =
      mirror_.waits() &&
      !runtime::is_planted(runtime::planted_bug::sent_before_the_state_is_mirrored);
  for (const auto& item : effects_.sends) waits ? mirror_.hold(item) : send(item);
  commit();
  if (has_all_tables()) send(norms_.begin(shards()));
  // Who hears of an end may begin another operation, and come here again from within.
  const bool is_outermost = dones_.empty();
  dones_.insert(dones_.end(), effects_.dones.begin(), effects_.dones.end());
  effects_.clear();
  if (!is_outermost) return;
  for (std::size_t i = 0; i < dones_.size(); ++i) {
    const auto done = dones_[i];
    shell_.done(done.op, done.code);
  }
  dones_.clear();
}

}  // namespace tidegate::policies
