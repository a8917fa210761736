// The state that a session keeps in memory of its host's agent
// (runtime/process/state_file.hpp).
// The program's thread sets and reads it, and the session's reactor commits it: any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/worker/kept_state.hpp"
#include "policies/worker/state_port.hpp"
#include "runtime/base/status.hpp"
#include "runtime/process/mirror_channel.hpp"
#include "runtime/process/state_file.hpp"

namespace tidegate::actors {

class session_state final : public policies::state_port {
 public:
  // `file`: mapped, or why it is not there. `line`: on which copies are asked for; or null.
  session_state(runtime::expected<std::shared_ptr<runtime::state_file>> file,
                std::shared_ptr<runtime::mirror_line> line);

  // As the calls of policies::kept_state.
  void resume(std::uint32_t epoch, std::uint64_t clock);
  runtime::status usable() const;
  bool is_lost() const;
  std::optional<std::uint64_t> older_clock() const;
  runtime::status use_older(std::uint64_t clock);
  bool is_used() const;
  runtime::status keep(std::string_view name, std::span<const std::byte> bytes,
                       std::uint64_t clock);
  runtime::status forget(std::string_view name, std::uint64_t clock);
  runtime::status clear(std::uint64_t clock);
  std::optional<std::span<const std::byte>> kept(std::string_view name) const;
  std::vector<std::string> names() const;

  bool commit(std::uint64_t version) override;
  void mirror(const runtime::mirror_request& request) override { line_->ask(request); }
  std::uint64_t mirror_every() const override { return line_ ? line_->every() : 0; }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<runtime::state_file> memory_;
  std::shared_ptr<runtime::mirror_line> line_;
  policies::kept_state kept_;
};

}  // namespace tidegate::actors
