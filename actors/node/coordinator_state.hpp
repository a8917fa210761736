// The coordinator actor: messages in and out of a coordinator_shell, and who stands behind its
// peers. It decides nothing. One actor: one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <caf/all.hpp>

#include "actors/control/errors.hpp"
#include "actors/control/messages.hpp"
#include "actors/coordinator/coordinator_shell.hpp"
#include "actors/node/checkpoint_keeper.hpp"
#include "actors/node/journal_keeper.hpp"
#include "actors/node/manifest_writer.hpp"

namespace tidegate::actors {

// What the run's folder keeps, and those of checkpoints. Blocks while it writes the journal.
class coordinator_folder final : public coordinator_storage {
 public:
  coordinator_folder(checkpoint_keeper keeper, kept_journal journal)
      : keeper_(std::move(keeper)), journal_(std::move(journal)) {}

  // Before the first manifest. `ended`: called on any thread when there is something to
  // deliver.
  void tell(std::function<void()> ended) { manifests_.emplace(std::move(ended)); }
  // Says how manifests have ended.
  void deliver() { manifests_->deliver(); }

  policies::recorded_cluster take_before() { return std::move(journal_.before); }

  const policies::restored_cluster& found() const override { return keeper_.found(); }
  void write(const std::vector<policies::coordinator_record>& records, done then) override {
    then(journal_.write(records));
  }
  void begin_after(const std::string& job, policies::checkpoint_id id) override {
    keeper_.begin_after(job, id);
  }
  policies::checkpoint_id begin(const std::string& job) override { return keeper_.begin(job); }
  void write(const policies::coordinator_effects::write_manifest& manifest,
             done then) override {
    const auto prepared = keeper_.prepare(manifest);
    if (!prepared) return then(prepared.error());
    manifests_->add({.write = [next = *prepared] { return next->write(); },
                     .tidy = [next = *prepared] { next->tidy(); },
                     .then =
                         [this, next = *prepared, then](const runtime::status& written) {
                           if (written.ok()) keeper_.written(*next);
                           then(written);
                         }});
  }

 private:
  checkpoint_keeper keeper_;
  kept_journal journal_;
  std::optional<manifest_writer> manifests_;  // the last: it uses the keeper's
};

// How a function of the shell takes what a message carries.
template <class Field>
using taken =
    std::conditional_t<std::is_same_v<Field, caf::actor>, const control_peer&,
                       std::conditional_t<std::is_arithmetic_v<Field>, Field, const Field&>>;

class coordinator final : public coordinator_actor::base, private control_port {
 public:
  coordinator(caf::actor_config& config, const policies::cluster_spec& cluster,
              std::uint64_t token, std::shared_ptr<coordinator_folder> folder,
              std::uint32_t incarnation)
      : coordinator_actor::base(config),
        folder_(std::move(folder)),
        shell_(cluster, token, *this, *folder_, folder_->take_before(), incarnation) {}
  // A promise that nobody delivers leaves its requester waiting: the shell tells them.
  ~coordinator() override { shell_.close(); }

  const char* name() const override { return "tidegate.coordinator"; }

 protected:
  behavior_type make_behavior() override;
  void on_exit() override { shell_.close(); }

 private:
  control_sender from(std::uint64_t token);
  control_peer peer(const caf::actor& member);
  std::uint64_t process_of(const caf::node_id& node);
  void forget_unknown();
  void on_down(const caf::down_msg& down);
  // Lets ask(reply) answer the message that is being handled.
  template <class T, class Ask>
  caf::result<T> answer(const Ask& ask);
  template <class T, class Atom, class... Fields>
  auto request_for(void (coordinator_shell::*handle)(const control_sender&, taken<Fields>...,
                                                     reply_to));
  template <class Atom, class... Fields>
  auto notice_for(void (coordinator_shell::*handle)(const control_sender&, taken<Fields>...));
  template <class Field>
  const Field& field(const Field& sent) const {
    return sent;
  }
  control_peer field(const caf::actor& sent) { return peer(sent); }

  void log_error(const std::string& line) override;
  std::int64_t unix_now() const override;
  std::int64_t steady_now() const override;
  void watch(const control_peer& member) override;
  void call(const control_peer& to, policies::call_id call,
            const policies::shard_call& content) override;
  void tell(const control_peer& to, const policies::shard_moved& moved) override;
  void tell(const control_peer& to, const policies::host_call& call) override;
  void stop(const control_peer& member) override;
  void expel(const control_peer& member, const runtime::status& why) override;
  bool may_live(const std::string& address) const override;
  void look_in(std::int64_t pause_ns) override;
  void end(const runtime::status& why) override;

  std::shared_ptr<coordinator_folder> folder_;
  // By handle. CAF makes another proxy of an actor for each connection.
  std::map<std::uint64_t, caf::actor> actors_;
  std::map<const caf::actor_control_block*, std::uint64_t> handles_;
  std::map<caf::node_id, std::uint64_t> processes_;
  std::uint64_t last_number_ = 0;
  std::size_t forget_at_ = 64;  // handles
  coordinator_shell shell_;
};

}  // namespace tidegate::actors
