#include "launch/agents/peer_survey.hpp"

#include <sys/eventfd.h>
#include <utility>

#include "policies/placement/hosts.hpp"
#include "runtime/base/service_thread.hpp"

namespace tidegate::launch {

using policies::survey_step;

peer_survey::peer_survey(const policies::cluster_spec& spec, policies::host_number own,
                         const agent_links& links, const agent_link_options& options)
    : spec_(spec),
      own_(own),
      links_(links),
      options_(options),
      news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

peer_survey::~peer_survey() {
  stop();
}

void peer_survey::survey(const policies::agent_orders::survey& step) {
  stop();
  if (step.step != survey_step::reach) door_.reset();
  if (step.step == survey_step::end) return;
  thread_ = runtime::start_service_thread([this, step] {
    auto done = step.step == survey_step::listen ? listen(step.number) : reach(step);
    {
      const std::lock_guard lock(mutex_);
      result_ = std::move(done);
    }
    ::eventfd_write(news_.get(), 1);
  });
}

void peer_survey::stop() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  eventfd_t ignored = 0;
  ::eventfd_read(stop_.get(), &ignored);
  ::eventfd_read(news_.get(), &ignored);
  result_.reset();
}

peer_survey::result peer_survey::listen(std::uint32_t number) const {
  const auto* own = policies::host_of_agent(spec_, own_);
  auto opened = links_.listen(own == nullptr ? "" : own->address, 0, options_);
  if (!opened)
    return {.report = {.number = number,
                       .step = survey_step::listen,
                       .why = opened.error().message()}};
  return {.report = {.number = number, .step = survey_step::listen, .port = (*opened)->port()},
          .door = std::move(*opened)};
}

peer_survey::result peer_survey::reach(const policies::agent_orders::survey& step) const {
  std::vector<policies::peer_place> places;
  for (const auto& peer : step.peers)
    if (const auto* host = policies::host_of_agent(spec_, peer.host); host != nullptr)
      places.push_back({.host = peer.host, .address = host->address, .port = peer.port});
  return {.report = {.number = step.number,
                     .step = survey_step::reach,
                     .unreached = links_.reach(places, options_.token, stop_.get())}};
}

void peer_survey::read(agent_turn& into) {
  while (door_ && door_->take()) {
  }
  eventfd_t ignored = 0;
  if (::eventfd_read(news_.get(), &ignored) != 0) return;
  thread_.join();
  auto done = std::exchange(result_, std::nullopt);
  if (!done) return;
  if (done->door) door_ = std::move(done->door);
  into.reports.emplace_back(std::move(done->report));
}

void peer_survey::add_to(std::vector<pollfd>& fds) const {
  fds.push_back({.fd = news_.get(), .events = POLLIN, .revents = 0});
  if (door_) fds.push_back({.fd = door_->fd(), .events = POLLIN, .revents = 0});
}

}  // namespace tidegate::launch
