#include "actors/shard/table_opener.hpp"

#include <cstdint>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::actors {

using runtime::status;

// The core gives the same when it hears of them.
std::vector<policies::owned_chunk> table_opener::next_slots(
    const policies::open_table_call& call) const {
  auto slot = static_cast<std::uint32_t>(core_.registry().chunks());
  std::vector<policies::owned_chunk> chunks;
  chunks.reserve(call.places.size());
  for (const auto& place : call.places)
    chunks.push_back({place.chunk, slot++, place.first, place.elements});
  return chunks;
}

void table_opener::open(const policies::open_table_call& call, const store_options& options,
                        completion done) {
  TIDEGATE_ASSERT(!opening_, "one table at a time");
  opening_ = std::make_unique<opening>(opening{.call = call,
                                               .chunks = next_slots(call),
                                               .restored = {},
                                               .ready = 0,
                                               .done = std::move(done)});
  if (auto added = memory_.add_table(call, opening_->chunks, options); !added.ok())
    return end(added);
  if (runtime::is_planted(runtime::planted_bug::table_told_before_made)) tell({});
  go_on();
}

void table_opener::go_on() {
  if (auto result = make_some(); !result.ok()) {
    memory_.forget_table(opening_->call.table);
    return end(result);
  }
  if (opening_->ready == opening_->chunks.size()) return end({});
  TIDEGATE_RARE("shard: a table is opened in many turns");
  home_.after_progress(*this);
}

// The first chunk in any case.
status table_opener::make_some() {
  std::uint64_t bytes = 0;
  auto& [call, chunks, restored, ready, done] = *opening_;
  while (ready < chunks.size() && (bytes == 0 || bytes < home_.limits().opening_bytes)) {
    const auto& chunk = chunks[ready];
    if (auto result = make(chunk); !result.ok()) return result;
    ++ready;
    bytes += chunk.elements * sizeof(float);
    if (call.rows.dim > 0) break;  // of which a checkpoint may have any number
  }
  return {};
}

status table_opener::make(const policies::owned_chunk& chunk) {
  auto& next = *opening_;
  if (auto result = memory_.make_chunk(next.call, chunk); !result.ok()) return result;
  if (next.call.restore.number == 0) return {};
  auto progress = checkpoints_.restore(next.call, chunk);
  if (!progress) return progress.error();
  next.restored.push_back(std::move(*progress));
  return {};
}

void table_opener::end(const status& result) {
  if (opening_->done) tell(result);
  opening_.reset();
  in_order(nullptr);
}

void table_opener::tell(const status& result) {
  const auto* const opened = opening_.get();
  const auto& call = opened->call;
  const auto chunks =
      core_.admin().open_table(call.token, call.table, call.places, call.rows.dim > 0);
  TIDEGATE_ASSERT(chunks == opened->chunks, "slots are given in order");
  if (result.ok()) {
    for (std::size_t i = 0; i < opened->restored.size(); ++i)
      core_.snapshots().restore(chunks[i].slot, opened->restored[i].version,
                                opened->restored[i].ranks);
    if (call.restore.number > 0) checkpoints_.table_restored(call.token);
    memory_.table_opened(call, chunks);
  } else {
    core_.admin().forget_table(call.table);  // its slots are used up
  }
  std::exchange(opening_->done, nullptr)(result);
}

void table_opener::in_order(std::function<void()> call) {
  if (call) {
    if (opening_) TIDEGATE_RARE("shard: a call waits for a table that is being opened");
    waiting_.push_back(std::move(call));
  }
  if (is_calling_) return;
  is_calling_ = true;
  while (!opening_ && !waiting_.empty()) {
    const auto next = std::move(waiting_.front());
    waiting_.pop_front();
    next();
  }
  is_calling_ = false;
}

void table_opener::close() {
  const continuation& turns = *this;
  home_.forget(turns);
  waiting_.clear();
}

}  // namespace tidegate::actors
