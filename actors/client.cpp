#include "actors/client.hpp"

#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include <caf/all.hpp>

#include "actors/errors.hpp"
#include "actors/optimizers.hpp"
#include "actors/reactor_actor.hpp"
#include "actors/session_core.hpp"
#include "actors/system.hpp"
#include "actors/worker.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/ucx/ucx_link.hpp"

namespace tidegate::actors {

using runtime::errc;
using runtime::expected;
using runtime::status;
using extent = policies::worker_core::extent;

namespace {

constexpr auto answer_timeout = std::chrono::seconds(30);
constexpr auto progress_interval = std::chrono::milliseconds(100);

pending failed(status why) {
  auto state = std::make_shared<pending::state>();
  state->outcome = std::move(why);
  return pending(std::move(state));
}

}  // namespace

class session::impl {
 public:
  explicit impl(session_parts parts) : parts_(std::move(parts)), self_(*parts_.system) {}
  ~impl();

  status join();
  expected<table> open(const policies::table_request& request);
  pending start(worker_command command);
  pending pull(const table& where, std::span<float> parameters, extent what);
  status finish();
  void report_now(bool even_if_recent);
  status declare_tables();
  status tell_failure(const std::string& why);
  status check(const table& where, std::size_t elements, const char* doing) const;
  status check_finite(const table& where, std::span<const float> gradient) const;
  static session wrap(std::unique_ptr<impl> self) { return session(std::move(self)); }

  template <class T, class... Ts>
  expected<T> ask(const std::string& doing, const Ts&... xs);

  session_parts parts_;
  caf::scoped_actor self_;
  std::unique_ptr<reactor> reactor_;
  worker_actor worker_;
  std::shared_ptr<worker_numbers> numbers_ = std::make_shared<worker_numbers>();
  job_info info_;
  policies::not_finite_rule not_finite_ = policies::not_finite_rule::refuse;
  std::map<std::uint32_t, policies::table_grant> tables_;
  std::uint64_t clock_ = 0;
  progress progress_;
  std::chrono::steady_clock::time_point reported_{};
  bool declared_ = false;
  bool ended_ = false;

 private:
  expected<std::string> hash_parameters();
  policies::worker_progress numbers_now() const;
};

template <class T, class... Ts>
expected<T> session::impl::ask(const std::string& doing, const Ts&... xs) {
  expected<T> result = runtime::fail(errc::unavailable, doing);
  self_->request(parts_.coordinator, answer_timeout, xs...)
      .receive([&](T& value) { result = std::move(value); },
               [&](caf::error& why) { result = runtime::fail(to_status(why, doing)); });
  return result;
}

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
  auto started = reactor::start(*parts_.system, parts_.make_link);
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
  worker_identity identity{hello.rank, hello.incarnation, std::move(*welcome),
                           parts_.coordinator, numbers_};
  worker_ = spawn_on<worker>(*reactor_, *parts_.system, std::move(identity));
  return {};
}

pending session::impl::start(worker_command command) {
  auto shared = std::make_shared<worker_command>(std::move(command));
  shared->done = std::make_shared<pending::state>();
  pending result(shared->done);
  caf::anon_send(worker_, worker_command_ptr(std::move(shared)));
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
  worker_command command;
  command.kind = worker_command::what::open;
  command.grant = *grant;
  if (auto opened = start(std::move(command)).wait(); !opened.ok())
    return runtime::fail(opened);
  const table made{grant->table, grant->elements};
  tables_[made.id] = std::move(*grant);
  return made;
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
  return {clock_,         progress_.clocks_total, progress_.epoch,
          progress_.loss, progress_.samples,      numbers_->staleness_max.load()};
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
  std::vector<float> values;
  for (const auto& grant : *all) {
    if (!tables_.contains(grant.table)) {
      worker_command open;
      open.kind = worker_command::what::open;
      open.grant = grant;
      if (auto opened = start(std::move(open)).wait(); !opened.ok())
        return runtime::fail(opened);
    }
    values.resize(grant.elements);
    worker_command pull;
    pull.kind = worker_command::what::pull;
    pull.table = grant.table;
    pull.parameters = values.data();
    pull.extent = extent::to_the_end;
    if (auto pulled = start(std::move(pull)).wait(); !pulled.ok()) return runtime::fail(pulled);
    hash.update(std::as_bytes(std::span(values)));
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

expected<session> join(session_parts parts) {
  auto made = std::make_unique<session::impl>(std::move(parts));
  if (auto joined = made->join(); !joined.ok()) return runtime::fail(std::move(joined));
  return session::impl::wrap(std::move(made));
}

session::session(std::unique_ptr<impl> self) noexcept : impl_(std::move(self)) {}
session::session(session&&) noexcept = default;
session& session::operator=(session&&) noexcept = default;
session::~session() = default;

expected<session> session::connect() {
  auto who = read_worker_environment();
  if (!who) return runtime::fail(who.error());
  runtime::log::start("worker-" + who->job + "-" + std::to_string(who->rank));
  auto process = std::make_shared<process_system>();
  auto coordinator = connect_coordinator(process->get(), who->node.coordinator_host,
                                         who->node.coordinator_port);
  if (!coordinator) return runtime::fail(coordinator.error());
  session_parts parts;
  parts.system = &process->get();
  parts.keep = std::move(process);
  parts.coordinator = *coordinator;
  parts.make_link = runtime::make_ucx_link;
  parts.who = std::move(*who);
  return join(std::move(parts));
}

const job_info& session::info() const noexcept {
  return impl_->info_;
}
std::uint64_t session::now() const noexcept {
  return impl_->clock_;
}

expected<table> session::open_table(std::string_view name, std::vector<std::uint64_t> shape) {
  policies::table_request request;
  request.job = impl_->info_.job;
  request.spec.name = name;
  request.spec.shape = std::move(shape);
  return impl_->open(request);
}

expected<table> session::open_table(std::string_view name, std::vector<std::uint64_t> shape,
                                    const table_options& options) {
  policies::table_request request;
  request.job = impl_->info_.job;
  request.spec.name = name;
  request.spec.shape = std::move(shape);
  request.options_given = true;
  request.optimizer_given = !options.optimizer.name.empty();
  auto optimizer = to_spec(options.optimizer, request.spec.name);
  if (!optimizer) return runtime::fail(optimizer.error());
  request.spec.optimizer = *optimizer;
  const bool uniform = options.init_uniform > 0;
  request.spec.init.kind =
      uniform ? policies::init_kind::uniform : policies::init_kind::constant;
  request.spec.init.value = uniform ? options.init_uniform : options.init_constant;
  return impl_->open(request);
}

pending session::push(const table& where, std::span<const float> gradient) {
  if (auto checked = impl_->check(where, gradient.size(), "push"); !checked.ok())
    return failed(std::move(checked));
  if (auto told = impl_->declare_tables(); !told.ok()) return failed(std::move(told));
  if (auto finite = impl_->check_finite(where, gradient); !finite.ok())
    return failed(std::move(finite));
  worker_command command;
  command.kind = worker_command::what::push;
  command.table = where.id;
  command.gradient = gradient.data();
  return impl_->start(std::move(command));
}

pending session::impl::pull(const table& where, std::span<float> parameters, extent what) {
  if (auto checked = check(where, parameters.size(), "pull"); !checked.ok())
    return failed(std::move(checked));
  worker_command command;
  command.kind = worker_command::what::pull;
  command.table = where.id;
  command.parameters = parameters.data();
  command.extent = what;
  return start(std::move(command));
}

pending session::pull(const table& where, std::span<float> parameters) {
  return impl_->pull(where, parameters, extent::as_policy);
}

pending session::pull_final(const table& where, std::span<float> parameters) {
  return impl_->pull(where, parameters, extent::everything);
}

status session::clock() {
  if (auto told = impl_->declare_tables(); !told.ok()) return told;
  worker_command command;
  command.kind = worker_command::what::clock;
  auto done = impl_->start(std::move(command)).wait();
  if (!done.ok()) return done;
  ++impl_->clock_;
  impl_->report_now(false);
  return {};
}

void session::report(const progress& now) {
  impl_->progress_ = now;
  impl_->report_now(false);
}

void session::report_metric(std::string_view name, double value) {
  const std::string metric(name);
  auto told =
      impl_->ask<done_atom>("reporting metric " + metric, metric_atom::value,
                            impl_->parts_.who.node.token, impl_->info_.job, metric, value);
  if (!told) runtime::log::warn(told.error().to_string());
}

status session::finish() {
  return impl_->finish();
}

void session::fail(const status& why) {
  const auto text = "worker " + std::to_string(impl_->info_.rank) + ": " + why.message();
  runtime::log::error(text);
  if (auto told = impl_->tell_failure(text); !told.ok()) runtime::log::warn(told.to_string());
}

}  // namespace tidegate::actors
