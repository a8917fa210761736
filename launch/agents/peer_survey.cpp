#include "launch/agents/peer_survey.hpp"

#include <algorithm>
#include <sys/eventfd.h>
#include <utility>

#include "policies/placement/hosts.hpp"
#include "policies/protocol/handshake.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/one_port.hpp"
#include "runtime/base/service_thread.hpp"

namespace tidegate::launch {

using policies::survey_step;

peer_survey::peer_survey(const policies::cluster_spec& spec, policies::host_number own,
                         const agent_links& links, const agent_link_options& options)
    : spec_(spec),
      own_(own),
      links_(links),
      options_(options),
      news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  options_.listener = policies::agent_service;
}

peer_survey::~peer_survey() {
  stop();
  for (auto& each : ending_) each->thread.join();
}

void peer_survey::survey(const policies::agent_orders::survey& step) {
  stop();
  if (step.step != survey_step::reach) doors_.clear();
  if (step.step == survey_step::end) return;
  under_way_ = std::make_unique<task>();
  under_way_->step = step;
  under_way_->stop = runtime::unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  under_way_->thread =
      runtime::start_service_thread([this, of = under_way_.get()] { carry_out(*of); });
}

void peer_survey::carry_out(task& of) const {
  auto outcome = of.step.step == survey_step::listen ? listen(of.step.number) : reach(of);
  {
    const std::lock_guard lock(of.mutex);
    of.outcome = std::move(outcome);
    of.is_done = true;
  }
  ::eventfd_write(news_.get(), 1);
}

// It may wait for whoever knows names, and the caller has more to do.
void peer_survey::stop() {
  if (!under_way_) return;
  ::eventfd_write(under_way_->stop.get(), 1);
  ending_.push_back(std::move(under_way_));
}

void peer_survey::join_ended() {
  std::erase_if(ending_, [](const auto& each) {
    const auto is_done = [&] {
      const std::lock_guard lock(each->mutex);
      return each->is_done;
    };
    if (!is_done()) return false;
    each->thread.join();
    return true;
  });
}

// Without an address that the host does not have now, if it has another, as processes do.
peer_survey::result peer_survey::listen(std::uint32_t number) const {
  const auto* own = policies::host_of_agent(spec_, own_);
  auto addresses = own == nullptr ? std::vector<std::string>() : policies::addresses_of(*own);
  if (addresses.empty()) addresses.emplace_back();
  using door = std::unique_ptr<agent_door>;
  auto [doors, failures] = runtime::listen_at_one_port<door>(
      addresses,
      [this](const std::string& address, std::uint16_t port) {
        return links_.listen(address, port, options_);
      },
      [](const door& listens) { return listens->port(); });
  if (doors.empty())
    return {.report = {.number = number,
                       .step = survey_step::listen,
                       .why = failures.front().message()}};
  const auto port = doors.front()->port();
  return {.report = {.number = number, .step = survey_step::listen, .port = port},
          .doors = std::move(doors)};
}

// A host is reached if one of its addresses is: processes do without the others.
peer_survey::result peer_survey::reach(const task& of) const {
  const auto& step = of.step;
  std::vector<policies::peer_place> places;
  for (const auto& peer : step.peers)
    if (const auto* host = policies::host_of_agent(spec_, peer.host); host != nullptr)
      for (const auto& address : policies::addresses_of(*host))
        places.push_back({.host = peer.host, .address = address, .port = peer.port});
  const auto failed = links_.reach(places, options_.token, of.stop.get());
  result done{.report = {.number = step.number, .step = survey_step::reach}};
  auto& unreached = done.report.unreached;
  for (const auto& peer : failed) {
    const auto is_of_host = [&](const auto& each) { return each.host == peer.host; };
    const auto* host = policies::host_of_agent(spec_, peer.host);
    if (std::ranges::count_if(failed, is_of_host) < std::ranges::count_if(places, is_of_host))
      runtime::log::warn("host " + host->name + " is not reached by " + peer.address + " " +
                         peer.why + "; the others go by its other addresses");
    else if (unreached.empty() || unreached.back().host != peer.host)
      unreached.push_back({.host = peer.host, .why = peer.why});
  }
  return done;
}

void peer_survey::read(agent_turn& into) {
  for (const auto& door : doors_)
    while (door->take()) {
    }
  eventfd_t ignored = 0;
  if (::eventfd_read(news_.get(), &ignored) != 0) return;
  join_ended();
  if (!under_way_) return;
  std::optional<result> done;
  {
    const std::lock_guard lock(under_way_->mutex);
    done = std::exchange(under_way_->outcome, std::nullopt);
  }
  if (!done) return;
  under_way_->thread.join();
  under_way_.reset();
  if (!done->doors.empty()) doors_ = std::move(done->doors);
  into.reports.emplace_back(std::move(done->report));
}

void peer_survey::add_to(std::vector<pollfd>& fds) const {
  fds.push_back({.fd = news_.get(), .events = POLLIN, .revents = 0});
  for (const auto& door : doors_)
    fds.push_back({.fd = door->fd(), .events = POLLIN, .revents = 0});
}

}  // namespace tidegate::launch
