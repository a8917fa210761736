// The tables of all jobs: how a worker creates or attaches to a table, where its chunks are,
// and which tables a worker has opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/coordinator/call_tracker.hpp"
#include "policies/coordinator/effects.hpp"
#include "policies/coordinator/job_table.hpp"
#include "policies/model/spec.hpp"
#include "policies/placement/placement.hpp"
#include "policies/protocol/control_calls.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies::coordination {

struct coordinator_state;

struct table_state {
  std::size_t job = 0;
  table_spec spec;
  table_grant grant;
  bool ready = false;
  bool restored = false;  // from a checkpoint, with whatever first values it had once
  bool recorded = false;  // created before this process began
};

// Ids and places follow from the order in which tables are created, which the journal keeps.
class table_catalog {
 public:
  explicit table_catalog(coordinator_state& state);

  // Goes on with the tables of the processes before.
  void go_on(const recorded_cluster& before);
  // Creates a table or attaches to it; coordinator_core::open_table().
  void open(const table_request& request, ticket requester, coordinator_effects& out);
  // Creates tables, records them, and opens them at the shards. `requester` waits for each of
  // them; nobody does if it is 0.
  void create(std::size_t job, std::vector<table_spec> specs, ticket requester,
              coordinator_effects& out);
  // Opens the tables of a job at the shards: the tables that it has, or, if it has none, the
  // tables that it begins with.
  void open_all(std::size_t job, coordinator_effects& out);
  // Takes in that all shards, and then all aggregators, have opened the table of this group.
  void opened(std::int64_t now, const call_group& done, coordinator_effects& out);
  // coordinator_core::tables_opened().
  void opened_by(std::int64_t now, const std::string& job, std::uint32_t rank,
                 std::vector<std::uint32_t> tables, coordinator_effects& out);

  // Returns the call that opens a table as if it were new, without places.
  open_table_call call_of(const table_state& table) const;
  // Returns the ids, ascending, of tables that some worker has opened: nobody pushes to others.
  std::vector<std::uint32_t> opened_tables(std::size_t job) const;
  // Returns the tables that a process of this rank may have pushed to. A worker that has not
  // said which tables it opens has pushed nothing in this epoch; then these are the tables of
  // the checkpoint.
  std::vector<std::uint32_t> tables_of(const job_record& job, std::uint32_t rank) const;
  // Returns the shards that hold chunks of opened tables.
  std::set<std::uint32_t> holders_of(std::size_t job) const;
  // Returns true if shards have all tables that the job goes on with, from a checkpoint or from
  // before this process began.
  bool has_all_before(const job_record& job) const;
  // coordinator_core::tables(), may_tell_tables().
  std::vector<table_grant> ready_tables(const std::string& job) const;
  runtime::status may_tell(const std::string& job) const;

  const table_state& operator[](std::uint32_t id) const { return tables_[id]; }
  auto begin() const { return tables_.begin(); }
  auto end() const { return tables_.end(); }

 private:
  std::vector<std::uint32_t> add(std::size_t job, const std::vector<table_spec>& specs);
  void attach(const table_state& known, const table_request& request, ticket requester,
              coordinator_effects& out);
  void open_at_shards(std::uint32_t id, ticket requester, coordinator_effects& out);
  void stage_at_aggregators(const job_record& job, const open_table_call& call, group_id group);

  coordinator_state& state_;
  placement placement_;
  std::vector<table_state> tables_;                                   // by id
  std::map<std::pair<std::size_t, std::string>, std::uint32_t> ids_;  // by job and name
  std::uint32_t sets_recorded_ = 0;  // a set: tables that were created at once
};

}  // namespace tidegate::policies::coordination
