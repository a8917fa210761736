// Memory that several processes of one host map: an anonymous file (memfd) of fixed size.
//
// Its maker names it; whoever may look into the maker's /proc/PID/fd opens it by that name and
// keeps the pages alive even when the maker has died. It cannot shrink (sealed), so touching a
// mapping never raises SIGBUS, and it has no path, so nothing is left behind by any exit.
// Pages appear when they are touched; prepare() makes them beforehand, as huge pages where the
// kernel gives them. Move-only; mappings belong to the object. No thread rule of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

// How another process of this host finds a segment. The inode tells the right file from one
// that took its descriptor's number later.
struct segment_name {
  std::uint32_t pid = 0;
  std::uint32_t fd = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const segment_name&, const segment_name&) = default;
};

class segment {
 public:
  segment() = default;
  segment(segment&& other) noexcept;
  segment& operator=(segment&& other) noexcept;
  ~segment();

  // Of large ones the kernel is asked; small ones are for what never grows beyond a few pages.
  enum class pages : std::uint8_t { large, small };

  // Zeroed, readable and writable here. `label` is what /proc/PID/maps shows. Errors: io_error
  // (no descriptor or address space left).
  static expected<segment> create(const std::string& label, std::size_t bytes,
                                  pages kind = pages::large);
  // Another process's, read-only here. Errors: unavailable (another host, no permission, the
  // maker has gone, or the name is not that of a sealed segment of this size).
  static expected<segment> open(const segment_name& name);

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::byte* data() const noexcept { return data_; }  // aligned to 2 MiB
  std::size_t size() const noexcept { return name_.bytes; }
  const segment_name& name() const noexcept { return name_; }

  // Makes the pages of [offset, offset + bytes): the maker's are allocated, a reader's are
  // entered in its page table. First touch in a hot loop is slower than a copy.
  void prepare(std::size_t offset, std::size_t bytes) const noexcept;
  // Gives the pages back that lie wholly in [offset, offset + bytes): whoever has them mapped
  // reads zeros. Only the maker's.
  void discard(std::size_t offset, std::size_t bytes) const noexcept;
  // Maps [offset, offset + bytes) once more at `where`, which the caller has reserved; both
  // multiples of page_bytes. False when the kernel has no mapping left.
  bool map_at(std::byte* where, std::size_t offset, std::size_t bytes) const noexcept;

  // Gives the descriptor back: those who have it open keep it, nobody else can open it any
  // more, and map_at() fails.
  void hide() noexcept;

  static constexpr std::size_t page_bytes = 4096;
  static constexpr std::size_t huge_page_bytes = 2u << 20;

 private:
  status map(int protection);
  void reset() noexcept;

  segment_name name_;
  std::byte* data_ = nullptr;
  int fd_ = -1;
  bool mine_ = false;
};

// Returns true if nobody can open this segment any more: the process that made it has ended, or
// has hidden or destroyed it. Returns false also where this process may not know.
bool is_gone(const segment_name& name) noexcept;

// The same for processes that can map each other's segments, most likely; different across
// hosts, across network namespaces, which stand for hosts, and across hosts that the cluster
// file tells apart by `name`. Hashed from boot id, network and pid namespace and name; never 0.
std::uint64_t host_identity(std::string_view name = {});

}  // namespace tidegate::runtime
