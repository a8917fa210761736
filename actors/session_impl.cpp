#include "actors/session_impl.hpp"

#include <cmath>
#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::status;
using extent = policies::worker_core::extent;

namespace {

constexpr auto progress_interval = std::chrono::milliseconds(100);

}  // namespace

session::impl::~impl() {
  if (!ended_ && worker_)
    tell_failure("worker " + std::to_string(info_.rank) + " left before finish()").ok();
  if (worker_) {
    self_->send_exit(worker_, caf::exit_reason::user_shutdown);
    self_->wait_for(worker_);
  }
  worker_ = nullptr;
  reactor_.reset();
}

status session::impl::join() {
  auto started = reactor::start(*parts_.system, parts_.make_link, parts_.host);
  if (!started) return started.error();
  reactor_ = std::move(*started);
  // The handle that the coordinator watches; the worker actor itself is made once we know the
  // shards.
  policies::worker_hello hello{parts_.who.job, parts_.who.rank, parts_.who.incarnation,
                               reactor_->address()};
  const auto me = caf::actor_cast<caf::actor>(self_.ptr());
  expected<policies::worker_welcome> welcome = runtime::fail(errc::unavailable, "");
  const auto doing = "joining job " + hello.job + " as rank " + std::to_string(hello.rank);
  const auto patience = std::chrono::milliseconds(parts_.who.node.start_timeout_ms);
  self_
      ->request(parts_.coordinator, patience, worker_atom::value, parts_.who.node.token, hello,
                me)
      .receive([&](policies::worker_welcome& value) { welcome = std::move(value); },
               [&](caf::error& why) { welcome = runtime::fail(to_status(why, doing)); });
  if (!welcome) return welcome.error();
  info_ = {hello.job, welcome->policy, hello.rank, welcome->workers, welcome->seed};
  not_finite_ = welcome->not_finite;
  aggregated_ = welcome->aggregated;
  worker_identity identity{hello.rank, hello.incarnation, std::move(*welcome),
                           parts_.coordinator, numbers_};
  worker_ = spawn_on<worker>(*reactor_, *parts_.system, std::move(identity));
  return {};
}

pending session::impl::start(worker_command command) {
  auto shared = std::make_shared<worker_command>(std::move(command));
  shared->done = std::make_shared<pending::state>();
  shared->done->home = reactor_.get();
  pending result(shared->done);
  reactor::guest driver(*reactor_);
  caf::anon_send(worker_, worker_command_ptr(std::move(shared)));
  driver.turn();  // what the command sends is sent when this returns
  return result;
}

expected<table> session::impl::open(const policies::table_request& request) {
  if (ended_ || declared_)
    return runtime::fail(
        errc::out_of_order,
        "table '" + request.spec.name +
            "' must be opened before the first push() or clock() of the worker");
  auto grant = ask<policies::table_grant>("opening table '" + request.spec.name + "'",
                                          table_atom::value, parts_.who.node.token, request);
  if (!grant) return runtime::fail(grant.error());
  if (auto opened = start_table(*grant); !opened.ok()) return runtime::fail(opened);
  const table made{grant->table, grant->elements};
  tables_[made.id] = std::move(*grant);
  return made;
}

status session::impl::start_table(const policies::table_grant& grant) {
  auto& memory = memories_[grant.table];
  if (!memory) {
    auto made = table_memory::make(gradients_, grant.places);
    if (!made) return made.error();
    memory = std::move(*made);
  }
  worker_command command;
  command.kind = worker_command::what::open;
  command.grant = grant;
  if (aggregated_)
    for (auto& place : command.grant.places) place.shard = 0;
  command.memory = memory;
  return start(std::move(command)).wait();
}

// One array; copied together when shards keep its chunks in different planes.
std::span<const float> session::impl::parameters(const table& where) {
  const auto at = memories_.find(where.id);
  if (at == memories_.end()) return {};
  const auto found = at->second->stretches();
  if (found.size() < 2) return found.empty() ? std::span<const float>() : found[0].values;
  auto& whole = gathered_[where.id];
  whole.resize(where.size);
  at->second->gather(whole);
  numbers_->payload_bytes_copied.fetch_add(where.size * sizeof(float),
                                           std::memory_order_relaxed);
  return whole;
}

status session::impl::check(const table& where, std::size_t elements, const char* doing) const {
  const auto known = tables_.find(where.id);
  if (known == tables_.end())
    return {errc::not_found, std::string(doing) + " of a table that this session did not open"};
  if (elements != known->second.elements)
    return {errc::invalid_argument, std::string(doing) + " of table '" + known->second.name +
                                        "' with " + std::to_string(elements) +
                                        " elements; it has " +
                                        std::to_string(known->second.elements)};
  return {};
}

status session::impl::check_finite(const table& where, std::span<const float> gradient) const {
  if (not_finite_ == policies::not_finite_rule::allow) return {};
  const auto at = runtime::kernels::first_not_finite(gradient.data(), gradient.size());
  if (at == gradient.size()) return {};
  return {errc::not_finite,
          "the gradient of table '" + tables_.at(where.id).name + "' has " +
              (std::isnan(gradient[at]) ? "NaN" : "infinity") + " at element " +
              std::to_string(at) + " (worker " + std::to_string(info_.rank) + ", clock " +
              std::to_string(clock_) +
              "); refused. `gradients: {not_finite: allow}` lets such gradients pass"};
}

policies::worker_progress session::impl::numbers_now() const {
  return {clock_,
          progress_.clocks_total,
          progress_.epoch,
          progress_.loss,
          progress_.samples,
          numbers_->staleness_max.load(),
          numbers_->payload_bytes_copied.load()};
}

void session::impl::report_now(bool even_if_recent) {
  const auto now = std::chrono::steady_clock::now();
  if (!even_if_recent && now - reported_ < progress_interval) return;
  reported_ = now;
  self_->send(parts_.coordinator, progress_atom::value, parts_.who.node.token, info_.job,
              info_.rank, numbers_now());
}

// Once, before the first push or clock(): a worker that opened other tables than its peers
// would wait for them for ever.
status session::impl::declare_tables() {
  if (declared_) return {};
  std::vector<std::uint32_t> mine;
  for (const auto& [id, grant] : tables_) mine.push_back(id);
  auto told =
      ask<done_atom>("telling the coordinator which tables are open", opened_atom::value,
                     parts_.who.node.token, info_.job, info_.rank, mine);
  if (!told) return told.error();
  declared_ = true;
  return {};
}

status session::impl::tell_failure(const std::string& why) {
  ended_ = true;
  auto told = ask<done_atom>("telling the coordinator of a failure", fail_atom::value,
                             parts_.who.node.token, info_.job, why);
  return told ? status() : told.error();
}

// SHA-256 over all tables of the job in the order of their names, once every worker has
// finished.
expected<std::string> session::impl::hash_parameters() {
  auto all = ask<grants>("asking for the job's tables", tables_atom::value,
                         parts_.who.node.token, info_.job);
  if (!all) return runtime::fail(all.error());
  runtime::sha256 hash;
  for (const auto& grant : *all) {
    if (!tables_.contains(grant.table)) {
      if (auto opened = start_table(grant); !opened.ok()) return runtime::fail(opened);
    }
    worker_command pull;
    pull.kind = worker_command::what::pull;
    pull.table = grant.table;
    pull.extent = extent::to_the_end;
    if (auto pulled = start(std::move(pull)).wait(); !pulled.ok()) return runtime::fail(pulled);
    for (const auto& part : memories_.at(grant.table)->stretches())
      hash.update(std::as_bytes(part.values));
  }
  return hash.finish();
}

status session::impl::finish() {
  worker_command command;
  command.kind = worker_command::what::finish;
  if (auto done = start(std::move(command)).wait(); !done.ok()) return done;
  std::string sha256;
  if (info_.rank == 0) {
    auto hashed = hash_parameters();
    if (!hashed) return hashed.error();
    sha256 = *hashed;
  }
  auto told = ask<done_atom>("telling the coordinator that this worker has finished",
                             finished_atom::value, parts_.who.node.token, info_.job, info_.rank,
                             numbers_now(), sha256);
  if (!told) return told.error();
  ended_ = true;
  return {};
}

}  // namespace tidegate::actors
