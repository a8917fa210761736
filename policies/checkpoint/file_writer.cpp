#include "policies/checkpoint/file_writer.hpp"

#include <memory>

#include "policies/checkpoint/name.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;
using runtime::status;

piece_source pieces_of(std::string head, std::vector<std::span<const std::byte>> rest) {
  struct position {
    std::string head;
    std::vector<std::span<const std::byte>> rest;
    std::size_t next = 0;
    std::span<const std::byte> left;
  };
  const auto at = std::make_shared<position>(
      position{.head = std::move(head), .rest = std::move(rest), .next = 0, .left = {}});
  at->left = std::as_bytes(std::span(at->head));
  return [at]() -> runtime::expected<std::span<const std::byte>> {
    while (at->left.empty() && at->next < at->rest.size()) at->left = at->rest[at->next++];
    const auto piece = at->left.first(std::min(at->left.size(), file_piece_bytes_max));
    at->left = at->left.subspan(piece.size());
    return piece;
  };
}

file_writer::file_writer(std::string name, piece_source source)
    : temporary_(name + std::string(temporary_suffix)), source_(std::move(source)) {
  file_.name = std::move(name);
}

file_writer::progress file_writer::step(runtime::storage& to) {
  TIDEGATE_ASSERT(stage_ < stage::done, "a writer that has ended does nothing more");
  if (stage_ == stage::remove) {
    // Whether it works or not: what stays is tidied up later.
    (void)to.remove(renamed_ ? file_.name : temporary_);
    stage_ = stage::failed;
    return progress::failed;
  }
  const auto before = stage_;
  if (auto result = carry_out(to); !result) return fail(std::move(result));
  if (before == stage::sync_folder) file_.sha256 = hash_.finish();
  return stage_ == stage::done ? progress::done : progress::working;
}

status file_writer::carry_out(runtime::storage& to) {
  switch (stage_) {
    case stage::create: {
      auto result = to.create(temporary_);
      created_ = result.ok();
      stage_ = stage::append;
      return result;
    }
    case stage::append:
      return append(to);
    case stage::sync:
      stage_ = stage::close;
      return to.sync(temporary_);
    case stage::close:
      stage_ = stage::rename;
      return to.close(temporary_);
    case stage::rename: {
      auto result = to.rename(temporary_, file_.name);
      renamed_ = result.ok();
      stage_ = stage::sync_folder;
      return result;
    }
    case stage::sync_folder:
      stage_ = stage::done;
      if (is_planted(planted_bug::checkpoint_folder_not_synced)) return {};
      return to.sync_folder();
    case stage::remove:
    case stage::done:
    case stage::failed:
      break;
  }
  return {};
}

status file_writer::append(runtime::storage& to) {
  const auto piece = source_();
  if (!piece) return piece.error();
  TIDEGATE_ASSERT(piece->size() <= file_piece_bytes_max, "others want their turn");
  if (piece->empty()) {
    const bool skips = is_planted(planted_bug::checkpoint_renamed_before_synced);
    stage_ = skips ? stage::close : stage::sync;
    return carry_out(to);
  }
  hash_.update(*piece);
  file_.bytes += piece->size();
  return to.append(temporary_, *piece);
}

file_writer::progress file_writer::fail(status why) {
  error_ = std::move(why);
  stage_ = created_ ? stage::remove : stage::failed;
  return created_ ? progress::working : progress::failed;
}

runtime::expected<written_file> write_all(file_writer writer, runtime::storage& to) {
  for (;;) {
    switch (writer.step(to)) {
      case file_writer::progress::working:
        break;
      case file_writer::progress::done:
        return writer.written();
      case file_writer::progress::failed:
        return runtime::fail(writer.error());
    }
  }
}

}  // namespace tidegate::policies
