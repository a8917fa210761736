// The memory of a worker's state, which outlives the worker's process: an anonymous file
// (memfd) that the agent of its host makes once per rank, keeps, and hands to each incarnation
// by inheritance. It has no path, so that nothing is left behind when the agent ends. Its size
// is sealed; pages appear when they are reserved. Movable; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/base/state_memory.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::runtime {

// Names the descriptor in the environment of a worker. Set by the agent.
inline constexpr const char* state_variable = "TIDEGATE_STATE_FD";

class state_file final : public state_memory {
 public:
  // Makes one of `bytes` bytes, zeroed, for a run. Errors: io_error (no more descriptors).
  static expected<state_file> make(std::uint64_t token, std::size_t bytes);
  // Maps the file behind a descriptor that this process has inherited, and takes the descriptor
  // over. Errors: unavailable (no such descriptor, or it is something else).
  static expected<state_file> open(int fd, std::uint64_t token);
  // That of this process, as its environment says; mapped once, however often this is called.
  // Errors: unavailable (the variable is not set, or as open()).
  static expected<std::shared_ptr<state_file>> of_process(std::uint64_t token);

  state_file(state_file&& other) noexcept;
  state_file& operator=(state_file&& other) noexcept;
  ~state_file() override;

  int fd() const noexcept { return fd_.get(); }
  // Writes a word before the file is mapped anywhere. Errors: io_error.
  status put(std::size_t offset, std::uint64_t word) const;
  // Maps a file that was made here. Errors: io_error.
  status map();
  // The bytes of a file that open() or map() has mapped; empty otherwise.
  std::span<const std::byte> bytes() const override { return bytes_; }
  // Gives [offset, offset + length) pages. Errors: no_space.
  status reserve(std::size_t offset, std::size_t length) override;
  // Write to a file that is mapped.
  void write(std::size_t offset, std::span<const std::byte> bytes) override;
  void store(std::size_t offset, std::uint64_t word) override;

 private:
  explicit state_file(unique_fd fd) noexcept : fd_(std::move(fd)) {}
  bool map(std::size_t size);

  unique_fd fd_;
  std::span<std::byte> bytes_;
};

}  // namespace tidegate::runtime
