#include "actors/shard.hpp"

#include <bit>
#include <type_traits>
#include <variant>

#include "actors/errors.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

namespace log = runtime::log;
using policies::frame_tag;
using policies::refusal;
using runtime::frame_kind;

namespace {

frame_tag tag_of(const runtime::frame_header& header) {
  return {header.job,   header.epoch, header.incarnation, header.worker,
          header.table, header.chunk, header.clock};
}

runtime::frame_header header_of(frame_kind kind, const frame_tag& tag, refusal code) {
  runtime::frame_header header;
  header.kind = kind;
  header.job = tag.job;
  header.epoch = tag.epoch;
  header.incarnation = tag.incarnation;
  header.worker = tag.rank;
  header.table = tag.table;
  header.chunk = tag.chunk;
  header.code = static_cast<std::uint32_t>(code);
  header.clock = tag.clock;
  return header;
}

}  // namespace

shard::shard(caf::actor_config& config, reactor& home)
    : reactor_actor<shard_actor::base>(config, home) {}

shard::~shard() = default;

shard::behavior_type shard::make_behavior() {
  sink_ = std::make_unique<frame_mailbox>(*this, *this, home());
  store_ = std::make_unique<shard_store>(home().link().memory());
  home().open_link(sink_.get());
  return {
      [this](const policies::open_job_call& call) { return open_job(call); },
      [this](const policies::open_table_call& call) { return open_table(call); },
      [this](const policies::admit_worker_call& call) { return admit_worker(call); },
      [this](const policies::close_job_call& call) { return close_job(call); },
      [this](stop_atom) { quit(); },
      [this](frame_event& event) { on_frame(event); },
      [this](const peer_lost_event& event) {
        const auto lost = peers_.find(event.peer);
        if (lost == peers_.end()) return;
        log::info("lost the link to rank " + std::to_string(lost->second.rank) + ": " +
                  event.why);
        auto& ranks = jobs_.at(lost->second.job).peers;
        const auto rank = ranks.find(lost->second.rank);
        if (rank != ranks.end() && rank->second == event.peer) ranks.erase(rank);
        peers_.erase(lost);
      },
  };
}

void shard::on_exit() {
  // Sends what is posted, then no more callbacks. The store stays until this object goes:
  // frames in the mailbox still hold places of it.
  home().close_link();
  sending_.clear();
}

caf::result<done_atom> shard::open_job(const policies::open_job_call& call) {
  core_.open_job(call.token, call.epoch, call.workers, call.consistency);
  auto& job = jobs_[call.token];
  job.workers = call.workers;
  job.scale = call.reduce == policies::reduce_kind::mean
                  ? 1.0F / static_cast<float>(call.workers)
                  : 1.0F;
  log::info("job " + call.name + ": " + policies::to_string(call.consistency) + ", " +
            std::to_string(call.workers) + " workers");
  return done_atom::value;
}

caf::result<done_atom> shard::open_table(const policies::open_table_call& call) {
  const auto job = jobs_.find(call.token);
  if (job == jobs_.end())
    return to_error(
        {runtime::errc::not_found, "this shard does not know the job of the table"});
  const auto before = core_.chunks();
  for (const auto& chunk : core_.open_table(call.token, call.table, call.places)) {
    if (chunk.slot < before) continue;  // opened by an earlier call
    auto added = store_->add_chunk(chunk, call.optimizer, call.init, call.init_key,
                                   job->second.scale, job->second.workers);
    if (!added.ok()) return to_error(added);
  }
  return done_atom::value;
}

caf::result<done_atom> shard::admit_worker(const policies::admit_worker_call& call) {
  const auto code = core_.admit_worker(call.token, call.rank, call.incarnation);
  if (code != refusal::none)
    return to_error({runtime::errc::refused,
                     "the shard refuses the worker: " + std::string(to_string(code))});
  auto connected = home().link().connect(call.address);
  if (!connected) return to_error(connected.error());
  jobs_.at(call.token).peers[call.rank] = *connected;
  peers_[*connected] = {call.token, call.rank};
  return done_atom::value;
}

caf::result<done_atom> shard::close_job(const policies::close_job_call& call) {
  effects_.clear();
  core_.close_job(call.token, effects_);
  carry_out();
  return done_atom::value;
}

runtime::buffer shard::place(const runtime::frame_header& header) {
  const auto tag = tag_of(header);
  policies::push_admission admission{policies::push_admission::what::refuse,
                                     refusal::wrong_size};
  if (header.kind == frame_kind::push) admission = core_.begin_push(tag, header.payload_bytes);
  using what = policies::push_admission::what;
  if (admission.kind == what::drop) return {};
  if (admission.kind == what::take) {
    if (auto lease = store_->lease(header.payload_bytes)) return lease;
    core_.cancel_push(tag);
    admission.code = refusal::no_memory;
  }
  if (admission.code != refusal::none) count_refusal(tag, admission.code);
  send(frame_kind::push_ack, tag, admission.code);
  return {};
}

void shard::on_frame_lost(const runtime::frame_header& header) {
  core_.cancel_push(tag_of(header));
}

void shard::count_refusal(const frame_tag& tag, refusal code) {
  ++refusals_;
  // The first ones are worth a line each, a flood is not.
  if (refusals_ <= 16 || std::has_single_bit(refusals_))
    log::warn("refused a frame of rank " + std::to_string(tag.rank) + ", table " +
              std::to_string(tag.table) + ", chunk " + std::to_string(tag.chunk) + ", clock " +
              std::to_string(tag.clock) + ": " + std::string(to_string(code)) + " (" +
              std::to_string(refusals_) + " so far)");
}

void shard::on_frame(frame_event& event) {
  const auto& header = event.header;
  const auto tag = tag_of(header);
  effects_.clear();
  switch (header.kind) {
    case frame_kind::push:
      core_.push(tag, store_->keep(std::move(event.payload)), effects_);
      break;
    case frame_kind::skip:
      core_.push(tag, policies::no_payload, effects_);
      break;
    case frame_kind::pull:
      core_.pull(tag, (header.flags & runtime::frame_flag_final) != 0, effects_);
      break;
    case frame_kind::finished:
      core_.finished(tag, effects_);
      break;
    case frame_kind::push_ack:
    case frame_kind::pull_reply:
      count_refusal(tag, refusal::unknown_worker);  // not for shards
      break;
  }
  carry_out();
}

void shard::carry_out() {
  using policies::shard_effects;
  for (const auto& effect : effects_.list) {
    std::visit(
        [&](const auto& what) {
          using kind = std::decay_t<decltype(what)>;
          if constexpr (std::is_same_v<kind, shard_effects::apply>) {
            store_->apply(what.slot,
                          std::span(effects_.inputs).subspan(what.first, what.count));
          } else if constexpr (std::is_same_v<kind, shard_effects::release>) {
            store_->release(what.payload);
          } else if constexpr (std::is_same_v<kind, shard_effects::acknowledge>) {
            if (what.code != refusal::none) count_refusal(what.tag, what.code);
            send(frame_kind::push_ack, what.tag, what.code);
          } else if (what.code == refusal::none) {
            send_parameters(what);
          } else {
            count_refusal(what.tag, what.code);
            send(frame_kind::pull_reply, what.tag, what.code);
          }
        },
        effect);
  }
}

void shard::send(frame_kind kind, const frame_tag& tag, refusal code) {
  const auto job = jobs_.find(tag.job);
  if (job == jobs_.end()) return;  // a stranger has no address
  const auto peer = job->second.peers.find(tag.rank);
  if (peer == job->second.peers.end()) return;  // gone; it asks again when it is back
  home().link().post(peer->second, header_of(kind, tag, code), {}, 0);
}

void shard::send_parameters(const policies::shard_effects::reply& reply) {
  const auto& peers = jobs_.at(reply.tag.job).peers;
  const auto peer = peers.find(reply.tag.rank);
  if (peer == peers.end()) return;
  if (!store_->may_send(reply.slot)) {
    count_refusal(reply.tag, refusal::pull_under_way);
    return send(frame_kind::pull_reply, reply.tag, refusal::pull_under_way);
  }
  auto parameters = store_->begin_send(reply.slot);
  auto header = header_of(frame_kind::pull_reply, reply.tag, refusal::none);
  header.version = reply.version;
  header.min_clock = reply.min_clock;
  header.payload_bytes = parameters.size();
  if (sending_free_.empty()) {
    sending_.emplace_back();
    sending_free_.reserve(sending_.size());
    sending_free_.push_back(sending_.size());
  }
  const auto token = sending_free_.back();
  sending_free_.pop_back();
  const auto bytes = parameters.bytes();
  sending_[token - 1] = {reply.slot, std::move(parameters)};
  home().link().post(peer->second, header, bytes, token);
}

void shard::on_sent(runtime::send_token token) {
  TIDEGATE_ASSERT(token >= 1 && token <= sending_.size(), "a token of send_parameters");
  store_->end_send(sending_[token - 1].slot);
  sending_[token - 1] = {};
  sending_free_.push_back(token);
}

}  // namespace tidegate::actors
