// What travels between actors: type ids (append only: the order is the wire id), inspection of
// the plain values of policies/, and the typed interfaces. Bulk bytes travel in frames alone.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <caf/actor.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>

#include "actors/control/status_messages.hpp"
#include "actors/control/table_options_message.hpp"
#include "actors/seam/frame_shell.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/spec.hpp"
#include "policies/protocol/control_calls.hpp"
#include "policies/supervision/reachability_judge.hpp"
#include "runtime/base/status.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/transport/frame.hpp"

namespace tidegate::policies {

template <class Inspector>
auto inspect(Inspector& f, consistency_spec& x) {
  return f(caf::meta::type_name("tidegate::consistency_spec"), x.kind, x.staleness);
}
template <class Inspector>
auto inspect(Inspector& f, init_spec& x) {
  return f(caf::meta::type_name("tidegate::init_spec"), x.kind, x.value);
}
template <class Inspector>
auto inspect(Inspector& f, row_segment_spec& x) {
  return f(caf::meta::type_name("tidegate::row_segment_spec"), x.columns, x.optimizer, x.init);
}
template <class Inspector>
auto inspect(Inspector& f, rows_spec& x) {
  return f(caf::meta::type_name("tidegate::rows_spec"), x.dim, x.capacity, x.init, x.lifetime,
           x.segments, x.memory);
}
template <class Inspector>
auto inspect(Inspector& f, table_spec& x) {
  return f(caf::meta::type_name("tidegate::table_spec"), x.name, x.shape, x.optimizer, x.init,
           x.rows);
}
template <class Inspector>
auto inspect(Inspector& f, chunk_place& x) {
  return f(caf::meta::type_name("tidegate::chunk_place"), x.chunk, x.shard, x.first,
           x.elements);
}
template <class Inspector>
auto inspect(Inspector& f, rank_node& x) {
  return f(caf::meta::type_name("tidegate::rank_node"), x.first, x.end);
}
template <class Inspector>
auto inspect(Inspector& f, open_job_call& x) {
  return f(caf::meta::type_name("tidegate::open_job_call"), x.token, x.epoch, x.workers,
           x.contributors, x.name, x.consistency, x.reduce, x.workers_come_back, x.members,
           x.nodes, x.upstream, x.upstream_epochs, x.incarnation, x.upstream_moves,
           x.replicated, x.clip_norm);
}
template <class Inspector>
auto inspect(Inspector& f, checkpoint_id& x) {
  return f(caf::meta::type_name("tidegate::checkpoint_id"), x.epoch, x.number);
}
template <class Inspector>
auto inspect(Inspector& f, open_table_call& x) {
  return f(caf::meta::type_name("tidegate::open_table_call"), x.token, x.table, x.optimizer,
           x.init, x.init_key, x.places, x.name, x.shape, x.restore, x.first_clocks, x.rows);
}
template <class Inspector>
auto inspect(Inspector& f, checkpoint_call& x) {
  return f(caf::meta::type_name("tidegate::checkpoint_call"), x.token, x.id, x.clock, x.tables,
           x.base);
}
template <class Inspector>
auto inspect(Inspector& f, written_file& x) {
  return f(caf::meta::type_name("tidegate::written_file"), x.name, x.bytes, x.sha256);
}
template <class Inspector>
auto inspect(Inspector& f, chunk_run& x) {
  return f(caf::meta::type_name("tidegate::chunk_run"), x.table, x.first, x.count);
}
template <class Inspector>
auto inspect(Inspector& f, checkpoint_report& x) {
  return f(caf::meta::type_name("tidegate::checkpoint_report"), x.token, x.id, x.shard,
           x.failure, x.file, x.clock, x.chunks, x.needs_base, x.took_ns);
}
template <class Inspector>
auto inspect(Inspector& f, admit_worker_call& x) {
  return f(caf::meta::type_name("tidegate::admit_worker_call"), x.token, x.rank, x.incarnation,
           x.address, x.tables, x.finished);
}
template <class Inspector>
auto inspect(Inspector& f, sum_progress_call& x) {
  return f(caf::meta::type_name("tidegate::sum_progress_call"), x.token, x.ranks);
}
template <class Inspector>
auto inspect(Inspector& f, shut_out_call& x) {
  return f(caf::meta::type_name("tidegate::shut_out_call"), x.token, x.rank, x.only_asks);
}
template <class Inspector>
auto inspect(Inspector& f, membership_change& x) {
  return f(caf::meta::type_name("tidegate::membership_change"), x.number, x.rank, x.clock,
           x.joins, x.pushes_here);
}
template <class Inspector>
auto inspect(Inspector& f, membership_call& x) {
  return f(caf::meta::type_name("tidegate::membership_call"), x.token, x.change);
}
template <class Inspector>
auto inspect(Inspector& f, join_barrier_call& x) {
  return f(caf::meta::type_name("tidegate::join_barrier_call"), x.token, x.clock, x.rank);
}
template <class Inspector>
auto inspect(Inspector& f, chunk_clock& x) {
  return f(caf::meta::type_name("tidegate::chunk_clock"), x.table, x.chunk, x.clock);
}
template <class Inspector>
auto inspect(Inspector& f, close_job_call& x) {
  return f(caf::meta::type_name("tidegate::close_job_call"), x.token);
}
template <class Inspector>
auto inspect(Inspector& f, worker_welcome& x) {
  return f(caf::meta::type_name("tidegate::worker_welcome"), x.token, x.epoch, x.first_clock,
           x.workers, x.capacity, x.seed, x.policy, x.not_finite, x.reduce, x.shard_addresses,
           x.shard_epochs, x.aggregated, x.one_clock_in_flight, x.replicated, x.tables);
}
template <class Inspector>
auto inspect(Inspector& f, lead_call& x) {
  return f(caf::meta::type_name("tidegate::lead_call"), x.view, x.address, x.has_all);
}
template <class Inspector>
auto inspect(Inspector& f, follow_call& x) {
  return f(caf::meta::type_name("tidegate::follow_call"), x.view, x.address);
}
template <class Inspector>
auto inspect(Inspector& f, promote_call& x) {
  return f(caf::meta::type_name("tidegate::promote_call"), x.view, x.epoch);
}
template <class Inspector>
auto inspect(Inspector& f, hosted_member& x) {
  return f(caf::meta::type_name("tidegate::hosted_member"), x.shard, x.member.number,
           x.member.incarnation);
}
template <class Inspector>
auto inspect(Inspector& f, host_call& x) {
  return f(caf::meta::type_name("tidegate::host_call"), x.members);
}
template <class Inspector>
auto inspect(Inspector& f, shard_moved& x) {
  return f(caf::meta::type_name("tidegate::shard_moved"), x.shard, x.epoch, x.address);
}
template <class Inspector>
auto inspect(Inspector& f, table_grant& x) {
  return f(caf::meta::type_name("tidegate::table_grant"), x.table, x.elements, x.name, x.places,
           x.lazy, x.rows, x.reduce);
}
template <class Inspector>
auto inspect(Inspector& f, worker_hello& x) {
  return f(caf::meta::type_name("tidegate::worker_hello"), x.job, x.rank, x.incarnation,
           x.address);
}
template <class Inspector>
auto inspect(Inspector& f, table_request& x) {
  return f(caf::meta::type_name("tidegate::table_request"), x.job, x.spec, x.options_given,
           x.optimizer_given);
}

}  // namespace tidegate::policies

namespace tidegate::actors {

struct worker_command;  // worker.hpp; stays in the process
using worker_command_ptr = std::shared_ptr<worker_command>;

// Stays in the process: the writer of a shard's part of a checkpoint has ended.
struct part_written_event {
  std::uint64_t job = 0;  // token
  std::string failure;    // empty: it is durable
  policies::written_file file;
};

// Stays in the process: a member of a shard's group has ended, in order or why not.
struct member_ended_event {
  policies::hosted_member member;
  runtime::status result;
  bool in_order = false;
};

using hosted_members = std::vector<policies::hosted_member>;
using grants = std::vector<policies::table_grant>;
using unreachable_peers = std::vector<policies::unreachable_peer>;
using chunk_clocks = std::vector<policies::chunk_clock>;

}  // namespace tidegate::actors

CAF_BEGIN_TYPE_ID_BLOCK(tidegate, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::open_job_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::open_table_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::admit_worker_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::worker_welcome))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::table_grant))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::worker_hello))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::worker_progress))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::table_request))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::cluster_status))
CAF_ADD_TYPE_ID(tidegate, (tidegate::actors::grants))
CAF_ADD_ATOM(tidegate, tidegate::actors, done_atom, "done")
CAF_ADD_ATOM(tidegate, tidegate::actors, shard_atom, "shard")
CAF_ADD_ATOM(tidegate, tidegate::actors, worker_atom, "worker")
CAF_ADD_ATOM(tidegate, tidegate::actors, table_atom, "table")
CAF_ADD_ATOM(tidegate, tidegate::actors, progress_atom, "progress")
CAF_ADD_ATOM(tidegate, tidegate::actors, metric_atom, "metric")
CAF_ADD_ATOM(tidegate, tidegate::actors, finished_atom, "finished")
CAF_ADD_ATOM(tidegate, tidegate::actors, fail_atom, "fail")
CAF_ADD_ATOM(tidegate, tidegate::actors, status_atom, "status")
CAF_ADD_ATOM(tidegate, tidegate::actors, stop_atom, "stop")
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::close_job_call))
CAF_ADD_ATOM(tidegate, tidegate::actors, opened_atom, "opened")
CAF_ADD_TYPE_ID(tidegate, (std::vector<std::uint32_t>))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::rank_node))
CAF_ADD_ATOM(tidegate, tidegate::actors, aggregator_atom, "aggregator")
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::checkpoint_id))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::chunk_run))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::written_file))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::checkpoint_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::checkpoint_report))
CAF_ADD_ATOM(tidegate, tidegate::actors, part_atom, "part")
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::lead_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::follow_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::promote_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::shard_moved))
CAF_ADD_ATOM(tidegate, tidegate::actors, moves_atom, "moves")
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::sum_progress_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::chunk_clock))
CAF_ADD_TYPE_ID(tidegate, (tidegate::actors::chunk_clocks))
CAF_ADD_ATOM(tidegate, tidegate::actors, look_atom, "look")
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::shut_out_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::membership_change))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::membership_call))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::join_barrier_call))
CAF_ADD_ATOM(tidegate, tidegate::actors, leave_atom, "leave")
CAF_ADD_ATOM(tidegate, tidegate::actors, scale_atom, "scale")
CAF_ADD_ATOM(tidegate, tidegate::actors, save_atom, "save")
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::hosted_member))
CAF_ADD_TYPE_ID(tidegate, (tidegate::actors::hosted_members))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::host_call))
CAF_ADD_ATOM(tidegate, tidegate::actors, host_atom, "host")
CAF_ADD_ATOM(tidegate, tidegate::actors, gone_atom, "gone")
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::unreachable_peer))
CAF_ADD_TYPE_ID(tidegate, (tidegate::actors::unreachable_peers))
CAF_ADD_ATOM(tidegate, tidegate::actors, unreachable_atom, "unreach")
CAF_ADD_ATOM(tidegate, tidegate::actors, mirrored_atom, "mirrored")
CAF_ADD_ATOM(tidegate, tidegate::actors, kept_atom, "kept")
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::job_arrivals))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::rank_arrivals))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::process_pressure))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::shard_times))
CAF_ADD_TYPE_ID(tidegate, (tidegate::policies::shard_report))
CAF_ADD_ATOM(tidegate, tidegate::actors, arrivals_atom, "arrivals")
CAF_END_TYPE_ID_BLOCK(tidegate)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidegate::actors::frame_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidegate::actors::peer_lost_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidegate::actors::part_written_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidegate::actors::worker_command_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidegate::actors::member_ended_event)

namespace tidegate::actors {

// The coordinator. Messages begin with the run's token; another one is refused. Errors are
// caf::error made by to_error (errors.hpp). docs/reference.md is generated from these comments.
using coordinator_actor = caf::typed_actor<
    // A shard process joins: index, number in its group, incarnation, link address, its actor.
    caf::replies_to<shard_atom, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t,
                    std::string, caf::actor>::with<done_atom>,
    // A process of a slot joins, where shards move: slot, place in it, incarnation, the members
    // that it has, its actor, which hears host_call and stop.
    caf::replies_to<host_atom, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t,
                    hosted_members, caf::actor>::with<done_atom>,
    // A process of a slot no longer has this member.
    caf::reacts_to<gone_atom, std::uint64_t, policies::hosted_member>,
    // The launcher says that a process has ended: role, job, index, incarnation.
    caf::replies_to<gone_atom, std::uint64_t, std::uint32_t, std::string, std::uint32_t,
                    std::uint32_t>::with<done_atom>,
    // A member, named by the address of its link, cannot reach these peers.
    caf::reacts_to<unreachable_atom, std::uint64_t, std::string, unreachable_peers>,
    // A shard or aggregator, named by the address of its link, says when pushes came in.
    caf::reacts_to<arrivals_atom, std::uint64_t, std::string, policies::shard_report>,
    // The coordinator's own, while connections to members are broken.
    caf::reacts_to<look_atom>,
    // The coordinator's own, when a manifest is written, or could not be.
    caf::reacts_to<kept_atom>,
    // An aggregator process joins: job, index, incarnation, link address, its actor.
    caf::replies_to<aggregator_atom, std::uint64_t, std::string, std::uint32_t, std::uint32_t,
                    std::string, caf::actor>::with<done_atom>,
    // A session joins, with its actor. Answered when every shard expects this worker.
    caf::replies_to<worker_atom, std::uint64_t, policies::worker_hello,
                    caf::actor>::with<policies::worker_welcome>,
    // A session wants to hear of shards that move: job, rank, incarnation, its actor.
    caf::reacts_to<moves_atom, std::uint64_t, std::string, std::uint32_t, std::uint32_t,
                   caf::actor>,
    // A session creates a table or attaches to it. Answered when every shard concerned has it.
    caf::replies_to<table_atom, std::uint64_t,
                    policies::table_request>::with<policies::table_grant>,
    // A session reports how far it is, every 100 ms at most: job, rank.
    caf::reacts_to<progress_atom, std::uint64_t, std::string, std::uint32_t,
                   policies::worker_progress>,
    // A session says, before its first clock() ends, which tables it has opened: job, rank.
    caf::replies_to<opened_atom, std::uint64_t, std::string, std::uint32_t,
                    std::vector<std::uint32_t>>::with<done_atom>,
    // A session reports a number for the result: job, name, value.
    caf::replies_to<metric_atom, std::uint64_t, std::string, std::string,
                    double>::with<done_atom>,
    // A session is done: job, rank, last progress, SHA-256 of the parameters or nothing.
    // Answered with all tables of the job, by name, where this worker is to hash them first;
    // then it has not finished yet.
    caf::replies_to<finished_atom, std::uint64_t, std::string, std::uint32_t,
                    policies::worker_progress, std::string>::with<grants>,
    // A worker has died and leaves for good: job, rank. Answered when all members know.
    caf::replies_to<leave_atom, std::uint64_t, std::string, std::uint32_t>::with<done_atom>,
    // The launcher wants this many workers: job, number.
    caf::replies_to<scale_atom, std::uint64_t, std::string, std::uint32_t>::with<done_atom>,
    // The launcher wants this many slots of processes to have the shards.
    caf::replies_to<scale_atom, std::uint64_t, std::uint32_t>::with<done_atom>,
    // The launcher wants a last checkpoint: job.
    caf::replies_to<save_atom, std::uint64_t, std::string>::with<done_atom>,
    // A shard's part of a checkpoint is durable, or why it is not.
    caf::reacts_to<part_atom, std::uint64_t, policies::checkpoint_report>,
    // A session or the launcher ends a job as failed: job, reason.
    caf::replies_to<fail_atom, std::uint64_t, std::string, std::string>::with<done_atom>,
    // The launcher asks how things stand, and for events beyond this number.
    caf::replies_to<status_atom, std::uint64_t, std::uint64_t>::with<policies::cluster_status>,
    // The launcher ends the cluster. The coordinator tells the shards.
    caf::replies_to<stop_atom, std::uint64_t>::with<done_atom>>;

// Of shards and aggregators.
using shard_actor =
    caf::typed_actor<caf::replies_to<policies::open_job_call>::with<done_atom>,
                     caf::replies_to<policies::open_table_call>::with<done_atom>,
                     caf::replies_to<policies::admit_worker_call>::with<std::uint64_t>,
                     caf::replies_to<policies::sum_progress_call>::with<chunk_clocks>,
                     caf::replies_to<policies::shut_out_call>::with<std::uint64_t>,
                     caf::replies_to<policies::join_barrier_call>::with<std::uint64_t>,
                     caf::replies_to<policies::membership_call>::with<done_atom>,
                     caf::replies_to<policies::close_job_call>::with<done_atom>,
                     caf::replies_to<policies::checkpoint_call>::with<std::uint64_t>,
                     caf::replies_to<policies::lead_call>::with<done_atom>,
                     caf::replies_to<policies::follow_call>::with<done_atom>,
                     caf::replies_to<policies::promote_call>::with<done_atom>,
                     caf::reacts_to<policies::shard_moved>, caf::reacts_to<part_written_event>,
                     caf::reacts_to<stop_atom>, caf::reacts_to<look_atom>,
                     caf::reacts_to<frame_event>, caf::reacts_to<peer_lost_event>>;

// Of processes of slots, where shards move.
using shard_host_actor =
    caf::typed_actor<caf::reacts_to<policies::host_call>, caf::reacts_to<stop_atom>>;

using worker_actor =
    caf::typed_actor<caf::reacts_to<worker_command_ptr>, caf::reacts_to<look_atom>,
                     caf::reacts_to<frame_event>, caf::reacts_to<policies::shard_moved>,
                     caf::reacts_to<peer_lost_event>,
                     caf::reacts_to<mirrored_atom, std::uint64_t>>;

}  // namespace tidegate::actors
