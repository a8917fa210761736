// What the parts of a shard's shell live on, without a link, memory or files: each writes down
// what it is asked.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/seam/shell_home.hpp"
#include "actors/shard/shard_memory.hpp"
#include "actors/shard/shard_port.hpp"
#include "tests/support/small_ingress.hpp"

namespace tidegate::tests {

using actors::continuation;
using actors::ingress_memory;
using actors::severity;
using actors::shard_memory;
using actors::shard_port;
using actors::shell_home;
using actors::shell_limits;
using actors::store_options;

// A home without a link that writes down the lines of its log.
class quiet_home final : public shell_home {
 public:
  void log(severity, const std::string& line) override { lines.push_back(line); }
  runtime::link& link() noexcept override { std::abort(); }
  std::int64_t now() const override { return 0; }
  const shell_limits& limits() const noexcept override { return set; }
  const std::string& address() const noexcept override { return address_; }
  runtime::expected<runtime::peer_id> connect(const std::string&) override { return 0; }
  bool shares_memory_with(const std::string&) const override { return false; }
  runtime::status fence(const std::string&) override { return {}; }
  void break_link() override {}
  void after_progress(continuation& work) override { put_off.push_back(&work); }
  void before_progress(continuation&) override {}
  void forget(const continuation& work) override { std::erase(put_off, &work); }
  void report_unreachable(const std::vector<policies::unreachable_peer>&) override {}
  void look_in(std::int64_t) override {}

  // Returns false if nothing was put off.
  bool turn() {
    const auto now = std::exchange(put_off, {});
    for (auto* work : now) work->go_on();
    return !now.empty();
  }

  std::vector<std::string> lines;
  std::vector<continuation*> put_off;
  shell_limits set;

 private:
  std::string address_;
};

// Chunks of one parameter each, the number of the slot.
class small_memory final : public shard_memory {
 public:
  static constexpr std::uint32_t table = 5;

  ingress_memory& ingress() noexcept override { return ingress_; }
  runtime::status add_table(const policies::open_table_call&,
                            std::span<const policies::owned_chunk>,
                            const store_options&) override {
    return {};
  }
  // Slots, until there is no memory for the next.
  std::vector<std::uint32_t> chunks_made;
  std::size_t chunks_max = 100;
  runtime::status make_chunk(const policies::open_table_call&,
                             const policies::owned_chunk& chunk) override {
    if (chunks_made.size() == chunks_max) return {runtime::errc::io_error, "no memory"};
    chunks_made.push_back(chunk.slot);
    return {};
  }
  std::vector<std::uint32_t> forgotten;  // tables
  void forget_table(std::uint32_t gone) override { forgotten.push_back(gone); }
  void discard(std::uint32_t) override {}
  runtime::expected<chunk_progress> restore(const policies::checkpoint_reader&, std::size_t,
                                            runtime::storage&,
                                            const policies::owned_chunk&) override {
    return chunk_progress();
  }
  description describe(std::uint32_t slot) const override {
    description chunk;
    chunk.table = table;
    chunk.about.table = "weights";
    chunk.about.shape = {2};
    chunk.about.chunk = slot;
    chunk.about.first = slot;
    chunk.about.elements = 1;
    if (!row_clock) return chunk;
    chunk.about.rows = {.dim = 2, .capacity = 100};
    chunk.about.row_count = 9;
    chunk.about.row_clock = *row_clock + slot;
    return chunk;
  }
  void copy_rows(std::uint32_t, const policies::chunk_description& about, std::size_t i,
                 std::span<float> to, std::shared_ptr<const void>) override {
    if (i != policies::values_array) return;
    EXPECT_EQ(to.size(), (about.needs_base() ? 4U : 9U) * 2);
    copied.push_back(about);
  }
  std::uint64_t rows_since(std::uint32_t, std::uint64_t) const override { return 4; }
  // Chunks are parts of a table of rows, of which this was the last step.
  std::optional<std::uint64_t> row_clock;
  mutable std::vector<policies::chunk_description> copied;
  void copy_out(const array_name& array, std::span<float> to,
                std::shared_ptr<const void> keeps) override {
    EXPECT_EQ(to.size(), 1U);
    to[0] = static_cast<float>(array.slot);
    copies.push_back(std::move(keeps));
  }
  // Copies are on their way until work has ended.
  std::vector<std::shared_ptr<const void>> copies;
  runtime::status apply(const effects::apply&, inputs) override { return {}; }
  double measure(const effects::measure&, inputs) override { return 0; }
  std::span<const std::byte> payload_bytes(policies::payload_handle) const override {
    return {};
  }
  std::span<const float> gradient(std::uint32_t, policies::payload_handle) const override {
    return {};
  }
  std::span<const float> sum_of(std::uint32_t, std::uint64_t) const override { return {}; }
  void keep_sum(std::uint32_t, std::uint64_t, policies::payload_handle) override {}
  std::shared_ptr<const std::vector<float>> seed_of(
      const effects::seed&, const policies::shard_core::seed_state&) override {
    return {};
  }
  std::uint64_t seed_bytes_max(std::uint32_t, std::uint32_t) const override { return 0; }
  runtime::buffer lease_seed(std::size_t) override { return {}; }
  runtime::expected<policies::chunk_seed> take_seed(std::uint32_t,
                                                    std::span<const std::byte>) override {
    return runtime::fail(runtime::errc::corrupt, "no seeds here");
  }
  lent_place place_of_sums(std::uint32_t) const override { return {}; }
  runtime::status map_sums(std::uint32_t, std::uint64_t, std::span<const std::byte>) override {
    return {};
  }
  void forget_sums() override {}
  policies::payload_handle sum_in_place(std::uint32_t, std::uint32_t) override {
    return policies::no_payload;
  }

 private:
  small_ingress ingress_;
};

class recording_port final : public shard_port {
 public:
  runtime::expected<policies::restore_source::folder> open_folder(
      const std::string& job) override {
    opened.push_back(job);
    return runtime::fail(runtime::errc::not_found, "no folder");
  }
  void write_part(std::uint64_t, const std::string& job, policies::file_writer) override {
    written.push_back(job);
  }
  void report(const policies::checkpoint_report& part) override { reports.push_back(part); }
  void give_way(bool) override {}
  void leave() override {}
  void give_up(const runtime::status&) override {}

  std::vector<std::string> opened;
  std::vector<std::string> written;
  std::vector<policies::checkpoint_report> reports;
};

}  // namespace tidegate::tests
