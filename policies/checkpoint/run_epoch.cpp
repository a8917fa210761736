#include "policies/checkpoint/run_epoch.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "policies/checkpoint/file_writer.hpp"

namespace tidegate::policies {

namespace {

constexpr std::string_view prefix = "epoch-";

}  // namespace

std::string epoch_file_name(std::uint32_t epoch) {
  const auto digits = std::to_string(epoch);
  return std::string(prefix) + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') +
         digits;
}

std::uint32_t epoch_of_file(std::string_view name) {
  if (!name.starts_with(prefix)) return 0;
  std::uint32_t epoch = 0;
  const auto* begin = name.data() + prefix.size();
  const auto* end = name.data() + name.size();
  const auto read = std::from_chars(begin, end, epoch);
  return read.ec == std::errc() && read.ptr == end ? epoch : 0;
}

runtime::expected<std::uint32_t> last_epoch(runtime::storage& folder) {
  const auto names = folder.list();
  if (!names) return runtime::fail(names.error());
  std::uint32_t last = 0;
  for (const auto& name : *names) last = std::max(last, epoch_of_file(name));
  return last;
}

runtime::status record_epoch(runtime::storage& folder, std::uint32_t epoch) {
  // A crash may have left the beginning of this one, and what it left of others is of no use.
  const auto names = folder.list();
  if (!names) return names.error();
  for (const auto& name : *names)
    if (name.starts_with(prefix) && epoch_of_file(name) == 0)
      if (auto removed = folder.remove(name); !removed) return removed;
  auto written =
      write_all(file_writer(epoch_file_name(epoch), pieces_of("tidegate\n", {})), folder);
  if (!written) return written.error();
  // The new one is safe: earlier ones may go.
  for (const auto& name : *names)
    if (const auto old = epoch_of_file(name); old != 0 && old < epoch)
      if (auto removed = folder.remove(name); !removed) return removed;
  return {};
}

}  // namespace tidegate::policies
