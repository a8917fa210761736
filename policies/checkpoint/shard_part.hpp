// A shard's part of a checkpoint while it is being taken: copies of its chunks, which are there
// when each has come to the cut, and then the file that they make. One job; one at a time. Its
// memory is kept from one to the next: as much again as the chunks themselves.
//
// Pure; one thread, but the writer may run on another until it has ended: nothing here is
// called meanwhile but busy().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/image.hpp"
#include "policies/checkpoint/rounds.hpp"

namespace tidegate::policies {

class shard_part {
 public:
  // What was being taken is given up, unless it is being written (false: try again later).
  bool begin(const shard_file_title& title, std::uint64_t token, std::size_t chunks);
  // A copy of one of the chunks. `table`: its id. True: it was the last.
  bool add(std::uint32_t table, chunk_description about,
           std::span<const std::span<const float>> arrays);
  // When all are there. The report but for the file; writing() until ended().
  runtime::expected<file_writer> write();
  void ended() { writing_ = false; }
  checkpoint_report report() const;

  bool writing() const noexcept { return writing_; }
  bool is_open() const noexcept { return missing_ > 0; }

 private:
  struct copy {
    std::uint32_t table = 0;
    chunk_description about;
    std::array<std::vector<float>, chunk_arrays_max> arrays;
  };
  shard_file_title title_;
  std::uint64_t token_ = 0;
  std::size_t missing_ = 0;
  std::size_t used_ = 0;  // of copies_
  bool writing_ = false;
  std::vector<copy> copies_;
};

}  // namespace tidegate::policies
