#include "policies/checkpoint/claim.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "policies/checkpoint/file_writer.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/checkpoint/run_epoch.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::status;

namespace {

constexpr std::string_view run_prefix = "run-";
constexpr std::size_t run_digits = 16;
constexpr std::uint64_t described_bytes_max = 4096;

// Returns the run's number; empty for other files, temporary ones too.
std::string run_of(std::string_view name) {
  if (!name.starts_with(run_prefix)) return {};
  const auto run = name.substr(run_prefix.size());
  const bool is_whole = run.size() == run_digits &&
                        run.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_whole ? std::string(run) : std::string();
}

runtime::expected<std::string> read_text(runtime::storage& from, const std::string& name) {
  const auto bytes = from.size(name);
  if (!bytes) return runtime::fail(bytes.error());
  std::string text(static_cast<std::size_t>(std::min(*bytes, described_bytes_max)), '\0');
  if (auto read = from.read(name, 0, std::as_writable_bytes(std::span(text))); !read.ok())
    return runtime::fail(std::move(read));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::string claim_folder(std::string_view checkpoints) {
  return std::string(checkpoints) + "/run";
}

std::string run_file_name(std::string_view run) {
  return std::string(run_prefix) + std::string(run);
}

runtime::expected<claim_remains> read_claims(runtime::storage& record,
                                             runtime::storage& checkpoints) {
  claim_remains remains;
  const auto epoch = last_epoch(record);
  if (!epoch) return runtime::fail(epoch.error());
  remains.recorded_epoch = remains.last_epoch = *epoch;
  const auto names = record.list();
  if (!names) return runtime::fail(names.error());
  for (const auto& name : *names) {
    const auto run = run_of(name);
    if (run.empty()) continue;
    remains.runs.push_back(run);
    const auto text = read_text(record, name);
    if (!text) return runtime::fail(text.error());
    remains.described = *text;
  }
  const auto files = checkpoints.list();
  if (!files) return runtime::fail(files.error());
  for (const auto& name : *files)
    if (const auto file = parse_checkpoint_file(name)) {
      remains.last_epoch = std::max(remains.last_epoch, file->id.epoch);
      if (file->is_manifest && !file->is_temporary) remains.has_checkpoints = true;
    }
  return remains;
}

status check_claim(const claim_remains& remains, claim_wish wish, std::string_view run,
                   const std::string& job, const std::string& folder) {
  const auto key = "jobs." + job + ".checkpoint.path";
  const auto at = key + ": " + folder;
  const auto owner = remains.described.empty() ? "" : " (" + remains.described + ")";
  if (remains.has_launcher)
    return {
        errc::already_exists,
        at + ": a launcher that lives writes checkpoints there" + owner +
            ": end it first, or name another folder; a lock of a machine that is gone stays "
            "until its file server gives it up"};
  if (remains.last_epoch == std::numeric_limits<std::uint32_t>::max())
    return {errc::over_limit, at + ": no epoch is left"};
  const bool has_run = !remains.runs.empty();
  if (wish == claim_wish::begin && (has_run || remains.has_checkpoints))
    return {errc::already_exists, at + " belongs to another run" + owner +
                                      ": go on from its checkpoints with tidegate launch FILE "
                                      "--continue, or name another folder, or remove this one"};
  const bool is_own =
      std::find(remains.runs.begin(), remains.runs.end(), run) != remains.runs.end();
  if (wish == claim_wish::resume && has_run && !is_own)
    return {errc::already_exists, at + ": another run has gone on from the checkpoints there" +
                                      owner + ": resume that one"};
  return {};
}

// Not by way of a temporary file: that the name is new is what makes the epoch this launcher's.
status claim_epoch(runtime::storage& record, std::uint32_t epoch) {
  const auto names = record.list();
  if (!names) return names.error();
  const auto name = epoch_file_name(epoch);
  constexpr std::string_view text = "tidegate\n";
  if (auto created = record.create(name); !created.ok()) return created;
  auto written = record.append(name, std::as_bytes(std::span(text)));
  if (written.ok()) written = record.sync(name);
  if (auto closed = record.close(name); written.ok()) written = std::move(closed);
  if (written.ok()) written = record.sync_folder();
  if (!written.ok()) return written;
  // The new one is safe: earlier ones may go.
  for (const auto& old : *names)
    if (const auto number = epoch_of_file(old); number != 0 && number < epoch)
      if (auto removed = record.remove(old); !removed.ok()) return removed;
  return {};
}

status replace_file(runtime::storage& record, const std::string& name,
                    const std::string& text) {
  const auto names = record.list();
  if (!names) return names.error();
  // The beginning of it, from before a crash.
  const auto temporary = name + std::string(temporary_suffix);
  if (std::find(names->begin(), names->end(), temporary) != names->end())
    if (auto removed = record.remove(temporary); !removed.ok()) return removed;
  auto written = write_all(file_writer(name, pieces_of(text, {})), record);
  return written ? status() : written.error();
}

status record_run(runtime::storage& record, std::string_view run,
                  const std::string& described) {
  auto written = replace_file(record, run_file_name(run), described + "\n");
  if (!written.ok()) return written;
  const auto names = record.list();
  if (!names) return names.error();
  bool removed_some = false;
  for (const auto& name : *names) {
    if (const auto other = run_of(name); other.empty() || other == run) continue;
    removed_some = true;
    if (auto removed = record.remove(name); !removed.ok()) return removed;
  }
  return removed_some ? record.sync_folder() : status();
}

status check_epoch(runtime::storage& record, std::uint32_t epoch, const std::string& folder) {
  const auto last = last_epoch(record);
  if (!last) return last.error();
  if (*last <= epoch) return {};
  return {errc::refused,
          folder + ": another launcher has gone on with the checkpoints there, in epoch " +
              std::to_string(*last) + ", and this run is in epoch " + std::to_string(epoch) +
              ": end this run"};
}

}  // namespace tidegate::policies
