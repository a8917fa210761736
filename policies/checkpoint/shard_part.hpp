// A shard's part of a checkpoint while it is being taken: room for copies of its chunks, which
// is full when each has come to the cut, and then the file that they make. One job; one at a
// time. Its memory is kept from one to the next: as much again as the chunks themselves.
//
// Pure; one thread, but the writer may run on another until it has ended: add() and write()
// are not called meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <vector>

#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/image.hpp"
#include "policies/checkpoint/rounds.hpp"

namespace tidegate::policies {

class shard_part {
 public:
  // Begins a part of `chunks` copies, and gives up one that was being taken. Returns false, and
  // changes nothing, while a part is being written.
  bool begin(const shard_file_title& title, std::uint64_t token, std::size_t chunks);
  // Room for the arrays of a chunk, parameters first: as many as chunk_arrays() says. Whoever
  // copies to an array shares its ownership until the copy is there, and may outlive the part.
  using room = std::array<std::shared_ptr<std::pmr::vector<float>>, chunk_arrays_max>;
  // Adds a chunk; its arrays are copied to the room by the time write() is called. `table`: its
  // id. After the last one is_open() is false. Asserts that is_open(). `memory`: where the room
  // is; it outlives this, and what is there is not kept from one checkpoint to the next, if it
  // is not the default.
  const room& add(std::uint32_t table, chunk_description about,
                  std::pmr::memory_resource* memory = std::pmr::get_default_resource());
  // Returns the writer of the file when all chunks are there (asserted); it reads the copies
  // until ended(). writing() is true until then. Errors: those of write_shard_file().
  runtime::expected<file_writer> write();
  // To be called when the writer is done, failed or gone.
  void ended();
  // No more parts are taken: gives up one that is being taken, and all memory, at the latest
  // when the writer is done.
  void retire();
  // Returns the report of the part, without `file` and `failure`.
  checkpoint_report report() const;

  bool writing() const noexcept { return writing_; }
  bool is_open() const noexcept { return missing_ > 0; }

 private:
  struct copy {
    std::uint32_t table = 0;
    chunk_description about;
    room arrays;
  };
  shard_file_title title_;
  std::uint64_t token_ = 0;
  std::size_t missing_ = 0;
  std::size_t used_ = 0;  // of copies_
  bool writing_ = false;
  std::vector<copy> copies_;
};

}  // namespace tidegate::policies
