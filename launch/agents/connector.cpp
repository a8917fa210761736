#include "launch/agents/connector.hpp"

#include <sys/eventfd.h>
#include <utility>

#include "runtime/base/service_thread.hpp"

namespace tidegate::launch {

connector::connector(const agent_links& links, std::string host, std::uint16_t port,
                     const agent_link_options& options)
    : links_(links),
      host_(std::move(host)),
      port_(port),
      options_(options),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

connector::~connector() {
  if (thread_.joinable()) thread_.join();
}

void connector::start() {
  if (thread_.joinable()) thread_.join();  // it has told its result
  thread_ = runtime::start_service_thread([this] {
    auto connected = links_.connect(host_, port_, options_);
    {
      const std::lock_guard lock(mutex_);
      result_ = std::move(connected);
    }
    ::eventfd_write(wake_.get(), 1);
  });
}

std::optional<runtime::expected<runtime::unique_fd>> connector::take() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  const std::lock_guard lock(mutex_);
  return std::exchange(result_, std::nullopt);
}

}  // namespace tidegate::launch
