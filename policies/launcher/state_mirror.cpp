#include "policies/launcher/state_mirror.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/state_layout.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

void state_mirror::take(state_image image) {
  auto versions = std::exchange(image_.versions, {});
  if (image.epoch != image_.epoch &&
      !is_planted(planted_bug::mirror_keeps_versions_of_an_earlier_epoch))
    versions.clear();
  for (auto& added : image.versions) {
    std::erase_if(versions,
                  [&](const state_version& version) { return version.clock == added.clock; });
    versions.push_back(std::move(added));
  }
  std::sort(versions.begin(), versions.end(),
            [](const auto& a, const auto& b) { return a.number > b.number; });
  const auto most = is_planted(planted_bug::mirror_has_room_for_one_version) ? 1 : state_slots;
  if (versions.size() > most) versions.resize(most);
  image_ = std::move(image);
  image_.versions = std::move(versions);
}

std::optional<std::uint64_t> state_mirror::newest_clock() const {
  std::optional<std::uint64_t> newest;
  for (const auto& version : image_.versions)
    newest = std::max(newest, std::optional(version.clock));
  return newest;
}

}  // namespace tidegate::policies
