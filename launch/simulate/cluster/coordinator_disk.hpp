// Journal and checkpoints of a simulated coordinator, on disks that take their time and fail.
//
// What is kept outlives the process: the journals and folders are the world's. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/coordinator/control_port.hpp"
#include "launch/simulate/cluster/disk.hpp"
#include "launch/simulate/cluster/process.hpp"
#include "policies/checkpoint/catalog.hpp"
#include "policies/checkpoint/writer.hpp"

namespace tidegate::sim {

class coordinator_disk final : public actors::coordinator_storage {
 public:
  // `owner`: the coordinator, with which all that is under way ends. `epoch`: of the run.
  coordinator_disk(world& where, process& owner, std::uint32_t epoch);

  // What the coordinators of this epoch have kept. A journal is never wrong here.
  policies::recorded_cluster recorded() const;
  // The journal of an epoch is made by its first coordinator. Fails where a disk is full.
  runtime::status open_journal();

  const policies::restored_cluster& found() const override { return found_; }
  void write(const std::vector<policies::coordinator_record>& records, done then) override;
  void begin_after(const std::string& job, policies::checkpoint_id id) override;
  policies::checkpoint_id begin(const std::string& job) override;
  void write(const policies::coordinator_effects::write_manifest& manifest, done then) override;

 private:
  // The checkpoints of a job.
  struct keeper {
    std::unique_ptr<disk_view> folder;
    std::unique_ptr<policies::checkpoint_catalog> catalog;
  };
  // A manifest on its way, as actors/node/checkpoint_keeper.hpp has it.
  struct new_manifest {
    policies::coordinator_effects::write_manifest content;
    policies::file_writer writer;
    policies::checkpoint_catalog catalog;  // a copy: the next round may begin before tidy()
    done then;
  };

  // What a run begins with; one that goes on in its epoch has it in the journal.
  policies::restored_cluster restored(bool goes_on);
  void keep(const std::vector<policies::coordinator_record>& records);
  runtime::status keep_or_fail(const std::vector<policies::coordinator_record>& records);
  runtime::status journal_failure();
  // Steps of the first that waits.
  void step();
  void written();
  void tidy();
  void next();
  void note(const std::string& text) const;

  world& world_;
  process& owner_;
  std::uint32_t epoch_;
  std::map<std::string, keeper> keepers_;  // by job
  std::deque<new_manifest> manifests_;     // one at a time, with what is tidied up after it
  policies::restored_cluster found_;
};

}  // namespace tidegate::sim
