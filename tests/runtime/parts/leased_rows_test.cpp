#include "runtime/parts/leased_rows.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/parts/cache_lines.hpp"
#include "runtime/parts/row_part.hpp"
#include "tests/runtime/batches/batch_memory.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::uint32_t leased_dim = 40;
constexpr std::uint32_t leased_parts = 3;
constexpr std::uint64_t leased_key = 77;

// A part, and a reader that asks for its rows.
class a_leased_part : public testing::Test {
 protected:
  a_leased_part() {
    row_part_options options;
    options.rows = {.name = "user", .seed = 9, .capacity = 1000, .dim = leased_dim};
    row_segment first, second;
    first.columns = 3;
    first.initial = initial_kind::constant;
    second.columns = leased_dim - 3;
    second.initial_scale = 0.5F;
    options.rows.segments = {first, second};
    options.keeps = 2;
    auto made = row_part::create(options);
    EXPECT_TRUE(made);
    part_ = std::make_unique<row_part>(std::move(*made));
    std::vector<std::uint64_t> ids(300);
    std::iota(ids.begin(), ids.end(), 0);
    for (std::size_t i = 0; i < ids.size(); i += 7) ids[i] = ids[i / 2];  // again
    places_.begin(ids, leased_key, leased_parts);
    wanted_ = ids.size();
  }

  // Steps all rows with an even id.
  void step(std::uint64_t clock, std::uint32_t from, std::uint32_t to) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 0; id < 300; id += 2) ids.push_back(id);
    batch_memory memory(row_batch_bytes(ids.size(), leased_dim));
    const auto room =
        begin_row_batch(memory.bytes(), static_cast<std::uint32_t>(ids.size()), leased_dim);
    std::copy(ids.begin(), ids.end(), room.ids.begin());
    std::fill(room.values.begin(), room.values.end(), 0.5F);
    const batch_merger::input input{0, *read_row_batch(memory.bytes(), leased_dim)};
    row_step options;
    options.clock = clock;
    ASSERT_TRUE(part_->apply({.options = options, .from = from, .to = to}, {&input, 1}).ok());
  }

  // The answer to a gather of the ids of `part`.
  std::span<const std::byte> ask(std::uint32_t part, std::uint32_t version_buffer,
                                 bool may_lease = true) {
    const auto rows = places_.rows_of(part);
    const auto memory = request_.resize(gather_request_bytes(rows));
    places_.write_ids(part, begin_gather(memory, rows));
    ask_values(memory, may_lease);
    const auto request = *read_row_request(memory);
    const auto room = answer_.resize(part_->answer_bytes(request));
    return room.first(part_->answer(version_buffer, request, room));
  }
  std::span<const std::uint64_t> ids() { return checked_row_request(request_.bytes()).ids; }

  // What an answer of values puts where the ids of `part` are.
  std::vector<float> scattered(std::uint32_t part, std::uint32_t version_buffer) {
    const auto answer = ask(part, version_buffer, false);
    std::vector<float> out(wanted_ * leased_dim);
    places_.scatter(
        part,
        {reinterpret_cast<const float*>(answer.data()), places_.rows_of(part) * leased_dim},
        leased_dim, out);
    return out;
  }

  // Puts the rows of `part` where their ids are; returns false if the lease does not hold.
  bool read_part(leased_rows& from, std::uint32_t part, std::span<float> out) {
    found_.assign(wanted_, nullptr);
    from.find(ids(), places_, part, found_, out);
    for (std::size_t i = 0; i < wanted_; ++i)
      if (found_[i] != nullptr) std::copy_n(found_[i], leased_dim, out.data() + i * leased_dim);
    return from.still_holds();
  }

  std::unique_ptr<row_part> part_;
  std::vector<const float*> found_;
  batch_writer places_;
  std::size_t wanted_ = 0;
  cache_lines request_, answer_;
};

TEST_F(a_leased_part, is_read_as_its_values_are_answered) {
  step(1, 0, 1);
  leased_rows reader;
  for (std::uint32_t part = 0; part < leased_parts; ++part) {
    const auto expected = scattered(part, 1);
    const auto lease = decode_lease(ask(part, 1));
    ASSERT_TRUE(lease) << lease.error().message();
    ASSERT_TRUE(reader.open(*lease, leased_dim).ok());
    std::vector<float> out(wanted_ * leased_dim);
    EXPECT_TRUE(read_part(reader, part, out));
    EXPECT_EQ(out, expected);
  }
}

TEST_F(a_leased_part, tells_who_is_late) {
  const auto before = decode_lease(ask(1, 0));
  ASSERT_TRUE(before);
  leased_rows reader;
  ASSERT_TRUE(reader.open(*before, leased_dim).ok());
  step(1, 0, 1);
  std::vector<float> out(wanted_ * leased_dim);
  EXPECT_FALSE(read_part(reader, 1, out));
  const auto after = decode_lease(ask(1, 1));
  ASSERT_TRUE(after);
  ASSERT_TRUE(reader.open(*after, leased_dim).ok());
  EXPECT_TRUE(read_part(reader, 1, out));
}

TEST_F(a_leased_part, answers_with_values_of_versions_before) {
  step(1, 0, 1);
  EXPECT_EQ(ask(0, 1).size(), row_lease_bytes);
  EXPECT_GT(ask(0, 0).size(), row_lease_bytes);
}

TEST_F(a_leased_part, answers_with_values_that_are_shorter) {
  const std::uint64_t few[] = {4};
  places_.begin(few, leased_key, 1);
  EXPECT_EQ(leased_dim * sizeof(float), 160U);
  EXPECT_EQ(ask(0, 0).size(), row_lease_bytes);
  row_part_options options;
  options.rows = {.name = "user", .seed = 9, .capacity = 1000, .dim = 8};
  auto narrow = row_part::create(options);
  ASSERT_TRUE(narrow);
  part_ = std::make_unique<row_part>(std::move(*narrow));
  EXPECT_EQ(ask(0, 0).size(), 64U);
}

TEST_F(a_leased_part, is_read_when_it_has_gone) {
  step(1, 0, 1);
  const auto expected = scattered(2, 1);
  leased_rows reader;
  ASSERT_TRUE(reader.open(*decode_lease(ask(2, 1)), leased_dim).ok());
  part_.reset();
  std::vector<float> out(wanted_ * leased_dim);
  EXPECT_TRUE(read_part(reader, 2, out));
  EXPECT_EQ(out, expected);
}

TEST_F(a_leased_part, that_has_gone_is_not_opened) {
  const auto lease = decode_lease(ask(2, 0));
  ASSERT_TRUE(lease);
  part_.reset();
  leased_rows reader;
  EXPECT_EQ(reader.open(*lease, leased_dim).code(), errc::unavailable);
}

TEST_F(a_leased_part, has_rows_of_the_width_that_is_asked_for) {
  leased_rows reader;
  EXPECT_EQ(reader.open(*decode_lease(ask(2, 0)), leased_dim + 1).code(), errc::corrupt);
}

TEST_F(a_leased_part, is_read_again_without_an_allocation) {
  leased_rows reader;
  std::vector<float> out(wanted_ * leased_dim);
  const auto lease = decode_lease(ask(1, 0));
  const auto read = [&] {
    return reader.open(*lease, leased_dim).ok() && read_part(reader, 1, out);
  };
  ASSERT_TRUE(read());
  const auto before = tests::allocations();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(read());
  EXPECT_EQ(tests::allocations(), before);
}

TEST(row_lease, comes_back_from_its_bytes_and_from_no_others) {
  row_lease lease;
  lease.version = 42;
  lease.place.segment = {.pid = 1, .fd = 2, .inode = 3, .bytes = 4};
  lease.place.shape = {.capacity = 5, .dim = 6, .state_floats = 7};
  lease.place.initial.key = 8;
  lease.place.initial.segments[0] = {.columns = 2, .kind = initial_kind::normal, .scale = 0.5F};
  lease.place.initial.segments[1] = {
      .columns = 4, .kind = initial_kind::constant, .scale = -1.0F};
  std::vector<std::byte> bytes(row_lease_bytes);
  encode(lease, bytes);
  const auto read = decode_lease(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, lease);
  EXPECT_FALSE(decode_lease(std::span(bytes).first(row_lease_bytes - 64)));
  for (const std::size_t at : {0, 64, 68}) {  // the mark, columns and a kind, a scale
    auto wrong = bytes;
    for (std::size_t i = 0; i < 4; ++i) wrong[at + i] = std::byte{0xff};
    EXPECT_EQ(decode_lease(wrong).error().code(), errc::corrupt) << at;
  }
  auto of_fewer_columns = bytes;
  of_fewer_columns[64] = std::byte{1};
  EXPECT_EQ(decode_lease(of_fewer_columns).error().code(), errc::corrupt);
}

}  // namespace
}  // namespace tidegate::runtime
