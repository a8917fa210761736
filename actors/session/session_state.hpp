// The state that a session keeps in memory of the launcher's (runtime/process/state_file.hpp).
// The program's thread sets and reads it, and the session's reactor commits it: any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/worker/kept_state.hpp"
#include "runtime/base/status.hpp"
#include "runtime/process/state_file.hpp"

namespace tidegate::actors {

class session_state {
 public:
  // `file`: mapped, or why it is not there.
  explicit session_state(runtime::expected<std::shared_ptr<runtime::state_file>> file);

  // As the calls of policies::kept_state.
  void resume(std::uint32_t epoch, std::uint64_t clock);
  runtime::status usable() const;
  bool is_lost() const;
  bool is_used() const;
  runtime::status keep(std::string_view name, std::span<const std::byte> bytes,
                       std::uint64_t clock);
  runtime::status forget(std::string_view name, std::uint64_t clock);
  runtime::status clear(std::uint64_t clock);
  std::optional<std::span<const std::byte>> kept(std::string_view name) const;
  std::vector<std::string> names() const;
  void commit(std::uint64_t version);

 private:
  class mapped_memory final : public policies::state_memory {
   public:
    explicit mapped_memory(std::shared_ptr<runtime::state_file> file)
        : file_(std::move(file)) {}
    std::span<const std::byte> bytes() const override { return file_->bytes(); }
    runtime::status reserve(std::size_t offset, std::size_t length) override {
      return file_->reserve(offset, length);
    }
    void write(std::size_t offset, std::span<const std::byte> bytes) override;
    void store(std::size_t offset, std::uint64_t word) override;

   private:
    std::shared_ptr<runtime::state_file> file_;
  };

  mutable std::mutex mutex_;
  std::optional<mapped_memory> memory_;
  policies::kept_state kept_;
};

}  // namespace tidegate::actors
