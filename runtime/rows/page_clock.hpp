// Which pages of some files stay in memory, where they may take so much together: a clock with
// a second chance (Corbato, 1968). A hand goes round over blocks of pages; a page that was used
// since it passed stays for another round, and the others are to leave. What has changed of
// these is written at once, and they go when room is needed: by then it is written, as a rule.
// A page that is used before it has gone stays.
//
// A block is what the hand looks at and what is written and dropped in a call; pages count one
// by one, as a row that is used says nothing about those 16 pages on.
//
// Files may have pages in memory that nobody has told of, as other processes read them, too;
// and the kernel may have taken some. A second hand, the audit, goes over all blocks at a pace
// of its own and asks what is there.
//
// Pure but for the calls of a page_device. Deterministic. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace tidegate::runtime::rows {

inline constexpr std::uint32_t block_pages = 16;
using page_mask = std::uint16_t;  // bit i: page i of a block

// A block of a file. Files have numbers that are used again.
struct page_block {
  std::uint32_t file = 0;
  std::uint64_t number = 0;

  friend bool operator==(const page_block&, const page_block&) = default;
};

// What carries out what a clock decides.
class page_device {
 public:
  virtual ~page_device() = default;

  // in_memory[i] = the pages of block `first.number + i` that are in memory. All of them are
  // blocks that were used, or lie before such.
  virtual void look(const page_block& first, std::span<page_mask> in_memory) = 0;
  // Starts to write what has changed of these pages.
  virtual void start_writing(const page_block& block, page_mask pages) = 0;
  // Takes these pages out of memory, and waits until what has changed is written. Returns those
  // that have stayed: somebody else uses them.
  virtual page_mask drop(const page_block& block, page_mask pages) = 0;
};

class page_clock {
 public:
  // Pages in memory at most, at least 1.
  explicit page_clock(std::uint64_t pages_max) noexcept;

  // A file without pages in memory; and one whose pages are gone.
  std::uint32_t add_file();
  void remove_file(std::uint32_t file);

  // Pages [first, first + count) of a file are used, and written where `writes`. Appends those
  // that are not in memory, as far as the clock knows, to `absent`; they are from now on.
  void use(std::uint32_t file, std::uint64_t first, std::uint64_t count, bool writes,
           std::vector<std::uint64_t>& absent);

  // Lets these pages of a file go at once, as far as nothing has changed on them: they came for
  // one use, and make no room for others by pushing out what is used again. They ascend.
  void let_go(std::uint32_t file, std::span<const std::uint64_t> pages, page_device& device);

  // Lets pages go, so that no more than pages_max() are in memory: the hand visits twice as
  // many blocks as pages have come, and some; or up to two rounds, where the bound demands it.
  // What a device does not drop, as others hold it, may exceed the bound.
  void balance(page_device& device);

  std::uint64_t pages() const noexcept { return in_memory_; }  // that are known to be in memory
  std::uint64_t pages_max() const noexcept { return pages_max_; }
  // Pages that are to leave, and are still there, where all goes well.
  std::uint64_t slack() const noexcept { return pages_max_ / 16; }
  std::uint64_t dropped() const noexcept { return dropped_; }  // pages, since it began

 private:
  struct block_state {
    page_mask in_memory = 0;
    page_mask used = 0;     // since the hand passed
    page_mask changed = 0;  // and not being written
    page_mask leaves = 0;   // waits to be dropped
  };
  struct file_state {
    std::vector<block_state> blocks;  // up to the last that was used
    bool is_there = false;
  };

  block_state& at(const page_block& block) {
    return files_[block.file].blocks[static_cast<std::size_t>(block.number)];
  }
  bool exists(const page_block& block) const noexcept {
    return block.number < files_[block.file].blocks.size();
  }
  // Moves to the next block, round and round; there is one.
  void advance(page_block& hand) const noexcept;
  void set_in_memory(block_state& block, page_mask pages);
  void note(block_state& block, page_mask found);
  void visit(const page_block& block, page_device& device);
  void move_hand(page_device& device);
  void drop_first(page_device& device);
  void drop(const page_block& number, page_mask pages, page_device& device);
  void audit(page_device& device);

  std::uint64_t pages_max_;
  std::vector<file_state> files_;
  std::uint64_t blocks_ = 0;  // of all files
  std::uint64_t in_memory_ = 0;
  std::uint64_t leaving_ = 0;
  std::uint64_t came_ = 0;  // since balance()
  std::uint64_t dropped_ = 0;
  bool is_held_ = false;          // some page was not dropped in the last balance()
  std::deque<page_block> queue_;  // blocks with pages that leave, in the order of their visits
  page_block hand_;
  page_block audited_;
};

}  // namespace tidegate::runtime::rows
