// What the coordinator actor hears, and from whom.
#include <type_traits>
#include <utility>
#include <variant>

#include "actors/node/coordinator_state.hpp"

namespace tidegate::actors {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using policies::cluster_status;
using policies::hosted_member;
using policies::process_role;
using policies::table_grant;
using policies::table_request;
using policies::worker_hello;
using policies::worker_progress;
using policies::worker_welcome;
using std::string;

}  // namespace

template <class T, class Ask>
caf::result<T> coordinator::answer(const Ask& ask) {
  auto promise = make_response_promise<T>();
  ask([promise](control_reply reply) mutable {
    if (!reply.result.ok()) {
      promise.deliver(to_error(reply.result));
    } else if constexpr (std::is_same_v<T, done_atom>) {
      promise.deliver(done_atom::value);
    } else {
      auto* const value = std::get_if<T>(&reply.value);
      promise.deliver(value != nullptr ? std::move(*value) : T());
    }
  });
  return promise;
}

// A message of these fields, which this function of the shell answers with a T.
template <class T, class Atom, class... Fields>
auto coordinator::request_for(void (coordinator_shell::*handle)(const control_sender&,
                                                                taken<Fields>..., reply_to)) {
  return [this, handle](Atom, u64 token, const Fields&... fields) {
    return answer<T>([&](reply_to reply) {
      (shell_.*handle)(from(token), field(fields)..., std::move(reply));
    });
  };
}

// Likewise one that is not answered.
template <class Atom, class... Fields>
auto coordinator::notice_for(void (coordinator_shell::*handle)(const control_sender&,
                                                               taken<Fields>...)) {
  return [this, handle](Atom, u64 token, const Fields&... fields) {
    (shell_.*handle)(from(token), field(fields)...);
  };
}

coordinator::behavior_type coordinator::make_behavior() {
  set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  folder_->tell([self = caf::actor_cast<caf::actor_addr>(this)] {
    if (const auto alive = caf::actor_cast<coordinator_actor>(self))
      caf::anon_send(alive, kept_atom::value);
  });
  shell_.begin();
  using shell = coordinator_shell;
  return {
      [this](shard_atom, u64 token, u32 index, u32 number, u32 incarnation,
             const string& address, const caf::actor& member) {
        return answer<done_atom>([&](reply_to reply) {
          shell_.shard_joined(from(token), index, {number, incarnation}, address, peer(member),
                              std::move(reply));
        });
      },
      [this](host_atom, u64 token, u32 slot, u32 place, u32 incarnation,
             const hosted_members& has, const caf::actor& host) {
        return answer<done_atom>([&](reply_to reply) {
          shell_.host_joined(from(token), {slot, place}, incarnation, has, peer(host),
                             std::move(reply));
        });
      },
      notice_for<gone_atom, hosted_member>(&shell::member_gone),
      [this](gone_atom, u64 token, u32 role, const string& job, u32 index, u32 incarnation) {
        return answer<done_atom>([&](reply_to reply) {
          const auto known = static_cast<process_role>(role);
          shell_.process_ended(from(token), {.role = known, .job = job, .index = index},
                               incarnation, std::move(reply));
        });
      },
      notice_for<unreachable_atom, string, unreachable_peers>(&shell::unreachable),
      notice_for<arrivals_atom, string, policies::shard_report>(&shell::arrivals),
      [this](look_atom) { shell_.look(); },
      [this](kept_atom) { folder_->deliver(); },
      request_for<done_atom, aggregator_atom, string, u32, u32, string, caf::actor>(
          &shell::aggregator_joined),
      request_for<worker_welcome, worker_atom, worker_hello, caf::actor>(&shell::worker_joined),
      notice_for<moves_atom, string, u32, u32, caf::actor>(&shell::listen_for_moves),
      request_for<table_grant, table_atom, table_request>(&shell::open_table),
      notice_for<progress_atom, string, u32, worker_progress>(&shell::progress),
      request_for<done_atom, opened_atom, string, u32, std::vector<u32>>(&shell::tables_opened),
      request_for<done_atom, metric_atom, string, string, double>(&shell::metric),
      request_for<grants, finished_atom, string, u32, worker_progress, string>(
          &shell::finished),
      request_for<done_atom, leave_atom, string, u32>(&shell::worker_leaves),
      request_for<done_atom, scale_atom, string, u32>(&shell::scale),
      request_for<done_atom, scale_atom, u32>(&shell::scale_shards),
      request_for<done_atom, save_atom, string>(&shell::want_last_checkpoint),
      notice_for<part_atom, policies::checkpoint_report>(&shell::checkpoint_part),
      request_for<done_atom, fail_atom, string, string>(&shell::fail_job),
      request_for<cluster_status, status_atom, u64>(&shell::status),
      request_for<done_atom, stop_atom>(&shell::stop),
  };
}

}  // namespace tidegate::actors
