#include "policies/shard/ingress_core.hpp"

#include <algorithm>

#include "policies/protocol/double_buffer.hpp"
#include "policies/protocol/frame_tags.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::frame_kind;
using runtime::is_planted;
using runtime::planted_bug;

ingress_core::admission ingress_core::admit(const admit_worker_call& call) {
  const auto code = core().admin().admit_worker(call.token, call.rank, call.incarnation);
  release_forgotten_calls(call.token);
  if (code != reply_code::ok) return {.code = code, .connect = false, .first_clock = 0};
  if (call.finished && !is_planted(planted_bug::farewell_forgotten_by_the_next_aggregator))
    about_job(call.token,
              [&](effects& out) { core().admin().has_finished(call.token, call.rank, out); });
  const bool is_new = state_.links.expect(call);
  return {.code = code,
          .connect = is_new,
          .first_clock = core().admin().first_missing(call.token, call.rank, call.tables)};
}

std::uint64_t ingress_core::shut_out(const shut_out_call& call) {
  if (!call.only_asks) core().membership().shut_out(call.token, call.rank);
  release_forgotten_calls(call.token);
  return core().membership().pushed_below(call.token, call.rank);
}

void ingress_core::release_forgotten_calls(std::uint64_t job) {
  if (core().has_forgotten_calls())
    about_job(job, [&](effects& out) { core().release_forgotten_calls(out); });
}

std::uint64_t ingress_core::hold(const join_barrier_call& call) {
  std::uint64_t come_to = 0;
  about_job(call.token, [&](effects& out) {
    come_to = core().membership().hold(call.token, call.clock, call.rank, out);
  });
  return come_to;
}

void ingress_core::change_membership(const membership_call& call) {
  const auto& change = call.change;
  bool news = false;
  about_job(call.token, [&](effects& out) {
    news = core().membership().change_membership(call.token, change, out);
  });
  const bool is_over = change.pushes_here && !change.joins;
  if (news && is_over) state_.links.remove(call.token, change.rank);
}

namespace {

// Its payload names memory.
bool names_memory(const runtime::frame_header& header) {
  return header.kind == frame_kind::attach || header.kind == frame_kind::device_attach;
}

}  // namespace

bool ingress_core::place(const runtime::frame_header& header) {
  if (names_memory(header)) return true;
  if (header.kind == frame_kind::call) return place_call(header);
  if (header.kind != frame_kind::push) {
    refuse_push(header, reply_code::wrong_size);
    return false;
  }
  const auto judged = core().begin_push(tag_of(header), header.payload_bytes);
  if (judged.kind == push_admission::verdict::take) return true;
  if (judged.kind == push_admission::verdict::refuse) refuse_push(header, judged.code);
  if (judged.code == reply_code::ok) {
    pull_of(header);
    repeat_norm(tag_of(header));
  }
  return false;
}

bool ingress_core::place_call(const runtime::frame_header& header) {
  const auto tag = tag_of(header);
  const auto judged = core().begin_call(tag, header.payload_bytes);
  if (judged.kind == push_admission::verdict::take) return true;
  if (judged.kind == push_admission::verdict::refuse)
    refuse_call(tag, judged.code);
  else
    repeat_norm(tag);  // as for a pull that comes again
  return false;
}

void ingress_core::refuse_call(const frame_tag& tag, reply_code code) {
  pending(tag.job, tag.table)
      .list.push_back(
          effects::reply{.tag = tag, .code = code, .slot = 0, .where = {}, .applied = false});
  state_.turns.go_on_soon();  // not within the network's progress
}

// A push that is here already is not taken in again; what came along with it is new, where a
// worker that has come back repeats a clock. A pull that is old is known by its number.
void ingress_core::pull_of(const runtime::frame_header& header) {
  if ((header.flags & runtime::frame_flag_pull) == 0) return;
  TIDEGATE_RARE("front: a push is known and its pull is not");
  auto next = tag_of(header);
  ++next.clock;
  core().pull(next, false, pending(next.job, next.table));
  state_.turns.go_on_soon();
}

// Whoever pushes again may have lost what the first push has led to.
void ingress_core::repeat_norm(const frame_tag& tag) {
  auto& out = pending(tag.job, tag.table);
  const auto before = out.list.size();
  core().norms().tell(tag, out);
  if (out.list.size() > before) state_.turns.go_on_soon();
}

void ingress_core::no_place(const runtime::frame_header& header) {
  if (names_memory(header)) {
    const auto tag = tag_of(header);
    const auto code = core().registry().check_worker(tag);
    if (code != reply_code::ok && !is_not_told(code)) return;
    state_.links.had_no_room(tag);
    return;
  }
  if (header.kind == frame_kind::call) {
    TIDEGATE_RARE("front: no memory for a call");
    core().cancel_call(tag_of(header));
    return refuse_call(tag_of(header), reply_code::no_memory);
  }
  if (header.kind != frame_kind::push) return;
  TIDEGATE_RARE("front: no memory for a push");
  core().cancel_push(tag_of(header));
  refuse_push(header, reply_code::no_memory);
}

void ingress_core::refuse_payload(const runtime::frame_header& header, reply_code code) {
  auto tag = tag_of(header);
  if (header.kind == frame_kind::call) {
    tag.request = core().cancel_call(tag);
    return refuse_call(tag, code);
  }
  core().cancel_push(tag);
  refuse_push(header, code);
}

void ingress_core::refuse_push(const runtime::frame_header& header, reply_code code) {
  const auto tag = tag_of(header);
  // Behind what waits: a duplicate is not acknowledged before its step has been made.
  auto& out = pending(tag.job, tag.table);
  out.list.push_back(effects::acknowledge{tag, code});
  if (code != reply_code::ok && (header.flags & runtime::frame_flag_pull) != 0) {
    auto pull = tag;
    ++pull.clock;
    out.list.push_back(
        effects::reply{.tag = pull, .code = code, .slot = 0, .where = {}, .applied = false});
  }
  state_.turns.go_on_soon();  // not within the network's progress
}

// Its sender may believe that it is here: only what breaks before it arrives does it send again
// of its own accord.
void ingress_core::frame_lost(const runtime::frame_header& header) {
  if (names_memory(header)) return state_.links.ask_unplaced();
  if (header.kind == frame_kind::call) {
    core().cancel_call(tag_of(header));
    return state_.links.send_resend(tag_of(header), frame_kind::resend, 0);
  }
  if (header.kind != frame_kind::push) return;
  TIDEGATE_RARE("front: a push is cut off on its way");
  core().cancel_push(tag_of(header));
  if (!is_planted(planted_bug::cut_off_push_not_asked_for))
    state_.links.send_resend(tag_of(header), frame_kind::resend, 0);
}

void ingress_core::frame(const runtime::frame_header& header, payload_handle payload,
                         std::span<const std::byte> bytes, std::uint64_t copied) {
  const auto tag = tag_of(header);
  switch (header.kind) {
    case frame_kind::push:
    case frame_kind::skip:
      on_push(tag, header, payload, copied);
      break;
    case frame_kind::pull:
      core().pull(tag, (header.flags & runtime::frame_flag_final) != 0,
                  pending(tag.job, tag.table));
      break;
    case frame_kind::call:
      core().call(tag, payload, (header.flags & runtime::frame_flag_final) != 0,
                  pending(tag.job, tag.table));
      break;
    case frame_kind::finished:
      about_job(core().registry().check_worker(tag) == reply_code::ok
                    ? tag.job
                    : sharding::turn_runner::no_job,
                [&](effects& out) { core().finished(tag, out); });
      break;
    case frame_kind::attach:
      on_attach(tag, bytes);
      break;
    case frame_kind::device_attach:
      on_device_attach(tag, header.version, bytes);
      break;
    case frame_kind::doorbell:
      on_doorbell(tag, header);
      break;
    case frame_kind::resend:
    case frame_kind::resent:
      state_.links.on_resend(tag, header);
      break;
    case frame_kind::norm:
      on_norm(tag, header.squares);
      break;
    case frame_kind::norm_part:
      core().registry().for_each_table(tag.job, [&](std::uint32_t table) {
        core().norms().tell_all(tag, table, pending(tag.job, table));
      });
      break;
    case frame_kind::push_ack:
    case frame_kind::pull_reply:
    case frame_kind::call_reply:
    case frame_kind::attach_ack:
    case frame_kind::device_attach_ack:
    case frame_kind::doorbell_ack:
    case frame_kind::doorbell_reply:
    case frame_kind::step:
    case frame_kind::seed:
    case frame_kind::farewell:
    case frame_kind::followed:
    case frame_kind::lend:
    case frame_kind::lent:
    case frame_kind::steps:
      state_.shell.note_refusal(tag, reply_code::unknown_worker);  // not for shards
      break;
  }
  carry_out();
}

void ingress_core::on_norm(const frame_tag& tag, double squares) {
  if (!core().norms().arrived(tag, squares)) return;
  core().registry().for_each_table(tag.job, [&](std::uint32_t table) {
    core().norms().go_on(table, tag.clock, pending(tag.job, table));
  });
}

void ingress_core::on_push(const frame_tag& tag, const runtime::frame_header& header,
                           payload_handle payload, std::uint64_t copied) {
  if (auto* worker = state_.links.find(tag)) worker->payload_bytes_copied += copied;
  core().push(tag, payload, pending(tag.job, tag.table),
              (header.flags & runtime::frame_flag_pull) != 0);
}

// Maps the worker's gradients and says where the parameters are.
void ingress_core::on_attach(const frame_tag& tag, std::span<const std::byte> place) {
  state_.links.ask_unplaced();
  auto code = core().registry().check_table(tag);
  auto* worker = state_.links.find(tag);
  if (code == reply_code::ok && !worker)
    code = reply_code::unknown_worker;  // admitted, but not connected
  if (code == reply_code::ok && core().registry().slots_of(tag.table).empty())
    code = reply_code::unknown_table;
  if (code == reply_code::ok &&
      (core().registry().has_rows(tag.table) || TIDEGATE_BUGGIFY("front: a window is refused")))
    code = reply_code::no_window;
  if (code == reply_code::ok)
    code = state_.shell.map_gradients(
        {.job = tag.job, .rank = tag.rank, .incarnation = tag.incarnation}, tag.table, place);
  if (code == reply_code::ok) worker->attached.insert(tag.table);
  if (code != reply_code::ok) state_.links.refused(tag, code);
  const auto* to = state_.links.reachable(tag);
  if (!to) return;
  auto header = header_of(frame_kind::attach_ack, tag, code);
  header.shard = static_cast<std::uint16_t>(state_.index);
  if (code != reply_code::ok) return state_.shell.send(to->peer, header);
  state_.shell.send_place(to->peer, header);
}

// Of a table that is attached; without it there is no doorbell that could say so.
void ingress_core::on_device_attach(const frame_tag& tag, std::uint64_t known,
                                    std::span<const std::byte> places) {
  state_.links.ask_unplaced();
  auto code = core().registry().check_table(tag);
  auto* worker = state_.links.find(tag);
  if (code == reply_code::ok && !worker) code = reply_code::unknown_worker;
  if (code == reply_code::ok && !worker->attached.contains(tag.table))
    code = reply_code::no_window;
  if (code == reply_code::ok && TIDEGATE_BUGGIFY("front: a window on a device is refused"))
    code = reply_code::no_window;
  bool reads_gradients = false;
  if (code == reply_code::ok) {
    reads_gradients = state_.shell.map_on_device(
        {.job = tag.job, .rank = tag.rank, .incarnation = tag.incarnation}, tag.table, places);
    auto& reader = worker->on_device[tag.table];
    reads_gradients = reader.reads_gradients |=
        reads_gradients;  // doorbells may be on their way
  }
  if (code != reply_code::ok) state_.links.refused(tag, code);
  const auto* to = state_.links.reachable(tag);
  if (!to) return;
  auto header = header_of(frame_kind::device_attach_ack, tag, code);
  header.shard = static_cast<std::uint16_t>(state_.index);
  if (code != reply_code::ok) return state_.shell.send(to->peer, header);
  if (reads_gradients) header.flags = runtime::frame_flag_device;
  state_.shell.send_device_places(to->peer, header, known);
}

void ingress_core::on_doorbell(frame_tag tag, const runtime::frame_header& header) {
  const auto has = [&](std::uint16_t flag) { return (header.flags & flag) != 0; };
  const shard_core::doorbell_request request{.push = has(runtime::frame_flag_push),
                                             .skip = has(runtime::frame_flag_skip),
                                             .pull = has(runtime::frame_flag_pull),
                                             .is_final = has(runtime::frame_flag_final),
                                             .first = header.chunk,
                                             .count = header.count};
  const auto* worker = state_.links.find(tag);
  if (core().registry().check_worker(tag) != reply_code::ok)
    return core().doorbell(tag, request, {}, pending(tag.job, tag.table));  // refused
  if (!worker)
    return state_.links.refused(tag,
                                reply_code::unknown_worker);  // admitted, but not connected
  const bool whole = tag.table == runtime::whole_job;
  const bool on_device = has(runtime::frame_flag_device);
  const auto is_read_there = [&](std::uint32_t table) {
    if (!on_device) return true;
    const auto at = worker->on_device.find(table);
    return at != worker->on_device.end() && at->second.reads_gradients;
  };
  const auto chunks = whole ? 0 : core().registry().slots_of(tag.table).size();
  const bool is_of_all = request.count == 0;
  // Not one of ours: a doorbell is for what is attached, in a half that there is.
  if (header.version_buffer >= gradient_halves ||
      (!is_of_all && (request.first >= chunks || request.count > chunks - request.first)) ||
      (!whole && !(worker->attached.contains(tag.table) && is_read_there(tag.table))) ||
      (whole && !std::all_of(worker->attached.begin(), worker->attached.end(), is_read_there)))
    return state_.shell.note_refusal(tag, reply_code::no_window);
  if (!whole) return doorbell_table(tag, header, request);
  for (const auto table : worker->attached) {
    tag.table = table;
    doorbell_table(tag, header, request);
  }
}

void ingress_core::doorbell_table(const frame_tag& tag, const runtime::frame_header& header,
                                  const shard_core::doorbell_request& request) {
  handles_.clear();
  auto slots = core().registry().slots_of(tag.table);
  const auto first = is_planted(planted_bug::doorbell_run_from_the_begin) ? 0 : request.first;
  if (request.count > 0) slots = slots.subspan(first, request.count);
  if (request.push)
    for (const auto slot : slots)
      handles_.push_back(state_.shell.keep_in_place(
          {.job = tag.job, .rank = tag.rank, .incarnation = tag.incarnation}, tag.table,
          header.version_buffer, slot, (header.flags & runtime::frame_flag_device) != 0));
  if (request.pull) state_.links.pulls(tag, header.version);
  core().doorbell(tag, request, handles_, pending(tag.job, tag.table));
}

void ingress_core::go_on() {
  state_.turns.begin_turn();
  state_.replies.answer_due();
  carry_out();
}

}  // namespace tidegate::policies
