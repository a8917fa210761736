// Memory that lies in a file of a disk, for what does not fit RAM: a file without a name, of
// fixed size, that its maker maps over a part of its memory. Other processes of the host open
// it as they open segments (segment.hpp), and keep it when its maker has died; it goes with the
// last of them, so no exit leaves anything behind.
//
// Disk space is taken by reserve(), and never by writing: a page that was reserved can be
// written though the disk is full, and nobody touches others, but that readers of such a
// page find zeros. A disk that fails to read is met by the kernel with SIGBUS; drop() tells of
// one that fails to write.
//
// Which pages are in memory is for the owner to say, and for the kernel where it is short of
// memory. Ranges are multiples of segment::page_bytes. Move-only; no thread rule of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::runtime {

class backing_file {
 public:
  // Checks that files in this folder lie on a disk, and not in memory. Errors:
  // invalid_argument (a file system in memory), io_error (no folder, or it cannot be written).
  static status check_folder(const std::string& folder);

  // In which order it is read: of pages that come from anywhere no others are read with them.
  enum class order : std::uint8_t { random, ascending };

  // All zero. Errors: those of check_folder(); io_error (larger than a file may be).
  static expected<backing_file> create(const std::string& folder, std::uint64_t bytes,
                                       order read = order::random);
  // Another process's, to be read. Errors: unavailable (segment::open).
  static expected<backing_file> open(const segment_name& name);

  const segment_name& name() const noexcept { return name_; }
  std::uint64_t size() const noexcept { return name_.bytes; }

  // Maps all of it at `where`, in place of what the caller has mapped there; the mapping is the
  // caller's. Returns false when the kernel has no mapping left.
  bool map_at(std::byte* where) const noexcept;

  // Takes disk space for [offset, offset + bytes), which has none. Errors: no_space (the disk
  // is full), invalid_argument (its file system reserves no space), io_error; then none is
  // taken. The message says neither what for nor what to do.
  status reserve(std::uint64_t offset, std::uint64_t bytes) const;

  // Starts to read what is not in memory, and returns.
  void start_reading(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  // Starts to write what has changed, and returns, or waits where the disk's queue is full.
  void start_writing(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  // Takes pages out of memory, which are mapped at `mapped` here: waits until what has changed
  // is written. Pages that another process has mapped stay. Errors: io_error (a write of this
  // file, these pages or others, has failed since the last drop): then what is on the disk may
  // be older than what was written, and the file is of no use any more.
  status drop(std::byte* mapped, std::uint64_t offset, std::uint64_t bytes) const;
  // in_memory[i] = 1 where page i of what is mapped at `mapped` is in memory, and else 0,
  // whoever has touched it.
  static void look(const std::byte* mapped, std::span<unsigned char> in_memory) noexcept;

 private:
  backing_file(unique_fd fd, const segment_name& name, bool is_mine, order read) noexcept
      : fd_(std::move(fd)), name_(name), is_mine_(is_mine), read_(read) {}

  unique_fd fd_;
  segment_name name_;
  bool is_mine_ = false;
  order read_ = order::random;
};

}  // namespace tidegate::runtime
