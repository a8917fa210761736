#include "actors/node/shard_actor.hpp"

#include <cstdlib>
#include <thread>
#include <utility>

#include "actors/control/call_result.hpp"
#include "actors/control/from_coordinator.hpp"
#include "runtime/base/log.hpp"
#include "runtime/device/open/open_device.hpp"
#include "runtime/objects/open_storage.hpp"
#include "runtime/process/thread_priority.hpp"

namespace tidegate::actors {

using runtime::status;

status shard::open_store() {
  const auto& where = keeping_.device;
  if (where.name.empty()) {
    store_ = std::make_unique<shard_store>(home().link().memory());
    return {};
  }
  auto device = runtime::devices::open_device(where.name);
  if (!device) return device.error();
  runtime::log::info("keeps and steps its parameters on " + (*device)->name());
  auto store = shard_store::on_device(
      home().link().memory(), std::move(*device),
      {.cache_bytes = where.memory, .chunk_bytes_max = where.chunk_bytes});
  if (!store) return store.error();
  store_ = std::move(*store);
  return {};
}

shard::behavior_type shard::make_behavior() {
  if (auto opened = open_store(); !opened.ok()) give_up(opened);
  store_->set_rows_folder(keeping_.rows_dir);
  shard_port& port = *this;
  shell_.emplace(shells_home(), *store_, port, index_);
  sink_ = std::make_unique<frame_mailbox>(*shell_, shells_home(), *this, home());
  home().open_link(sink_.get());
  const auto& from = keeping_.coordinator;
  return {
      from_coordinator(this, from, &shard::open_job),
      from_coordinator(this, from, &shard::open_table),
      from_coordinator(this, from, &shard::admit),
      from_coordinator(this, from, &shard::sum_progress),
      from_coordinator(this, from, &shard::shut_out),
      from_coordinator(this, from, &shard::hold),
      from_coordinator(this, from, &shard::change_membership),
      from_coordinator(this, from, &shard::close_job),
      from_coordinator(this, from, &shard::checkpoint),
      from_coordinator(this, from, &shard::lead),
      from_coordinator(this, from, &shard::follow),
      from_coordinator(this, from, &shard::promote),
      [](const policies::shard_moved&) {},
      [this](const part_written_event& event) {
        shell_->part_written(event.job, event.file, event.failure);
      },
      [this](stop_atom) {
        log_accounts();
        quit();
      },
      [this](look_atom) { shell_->look(); },
      [this](frame_event& event) { shell_->on_frame(event); },
      [this](const peer_lost_event& event) { shell_->on_peer_lost(event); },
  };
}

void shard::on_exit() {
  shell_->finish();
  // Sends what is posted, then no more callbacks. The store stays until this object goes:
  // frames in the mailbox still hold places of it.
  home().close_link();
  sink_->close();
  shell_->close();
}

template <class Value, class Work>
caf::result<Value> shard::in_order(Work work) {
  auto promise = make_response_promise<Value>();
  shell_->in_order([promise, work = std::move(work)]() mutable { deliver(promise, work()); });
  return promise;
}

caf::result<done_atom> shard::open_job(const policies::open_job_call& call) {
  return in_order<done_atom>([this, call] { return shell_->open_job(call); });
}

caf::result<done_atom> shard::open_table(const policies::open_table_call& call) {
  auto promise = make_response_promise<done_atom>();
  shell_->in_order([this, call, promise] {
    shell_->open_table(call,
                       [promise](const status& opened) mutable { deliver(promise, opened); });
  });
  return promise;
}

caf::result<std::uint64_t> shard::admit(const policies::admit_worker_call& call) {
  return in_order<std::uint64_t>([this, call] { return shell_->admit(call); });
}

caf::result<chunk_clocks> shard::sum_progress(const policies::sum_progress_call& call) {
  return in_order<chunk_clocks>([this, call] { return shell_->sum_progress(call); });
}

caf::result<std::uint64_t> shard::shut_out(const policies::shut_out_call& call) {
  return in_order<std::uint64_t>([this, call] { return shell_->shut_out(call); });
}

caf::result<std::uint64_t> shard::hold(const policies::join_barrier_call& call) {
  return in_order<std::uint64_t>([this, call] { return shell_->hold(call); });
}

caf::result<done_atom> shard::change_membership(const policies::membership_call& call) {
  return in_order<done_atom>([this, call] {
    shell_->change_membership(call);
    return status();
  });
}

void shard::log_accounts() const {
  for (const auto& line : store_->accounts_of_rows()) runtime::log::info(line);
}

caf::result<done_atom> shard::close_job(const policies::close_job_call& call) {
  return in_order<done_atom>([this, call] {
    log_accounts();
    shell_->close_job(call.token);
    return status();
  });
}

caf::result<std::uint64_t> shard::checkpoint(const policies::checkpoint_call& call) {
  return in_order<std::uint64_t>([this, call] { return shell_->checkpoint(call); });
}

caf::result<done_atom> shard::lead(const policies::lead_call& call) {
  auto promise = make_response_promise<done_atom>();
  shell_->in_order([this, call, promise] {
    shell_->lead(call, [promise](const status& led) mutable { deliver(promise, led); });
  });
  return promise;
}

caf::result<done_atom> shard::follow(const policies::follow_call& call) {
  return in_order<done_atom>([this, call] { return shell_->follow(call); });
}

caf::result<done_atom> shard::promote(const policies::promote_call& call) {
  return in_order<done_atom>([this, call] {
    shell_->promote(call);
    return status();
  });
}

// The coordinator asks only for jobs that have one: what cannot be opened is an error.
std::string shard::folder_of(const std::string& job) const {
  const auto found = keeping_.checkpoint_folders.find(job);
  return found == keeping_.checkpoint_folders.end() ? std::string() : found->second;
}

runtime::expected<policies::restore_source::folder> shard::open_folder(const std::string& job) {
  return runtime::open_storage(folder_of(job));
}

void shard::write_part(std::uint64_t token, const std::string& job,
                       policies::file_writer file) {
  writers_[token].start(
      [folder = folder_of(job), delay = keeping_.disk_delay] {
        std::this_thread::sleep_for(delay);  // as of a slow disk, where the run wants one
        return runtime::make_storage(folder);
      },
      std::move(file),
      [token, self = caf::actor_cast<shard_actor>(this)](
          runtime::expected<policies::written_file> written) {
        part_written_event event;
        event.job = token;
        if (written)
          event.file = *written;
        else
          event.failure = written.error().to_string();
        caf::anon_send(self, std::move(event));
      });
}

void shard::report(const policies::checkpoint_report& part) {
  if (keeping_.coordinator)
    send(keeping_.coordinator->now(), part_atom::value, keeping_.token, part);
}

void shard::give_way(bool yes) {
  runtime::give_way(yes);
}

// What the device has under way may yet be written here: the process ends as it is.
void shard::give_up(const status& why) {
  runtime::log::error(why.to_string());
  std::_Exit(EXIT_FAILURE);
}

void shard::leave() {
  quit(caf::exit_reason::user_shutdown);
}

}  // namespace tidegate::actors
