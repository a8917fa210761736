#include "launch/agents/state_image_json.hpp"

#include "policies/model/state_layout.hpp"

namespace tidegate::launch {

json image_json(const policies::state_image& image) {
  json all{{"epoch", image.epoch},
           {"has_history", image.has_history},
           {"known_from", image.known_from},
           {"begun", image.begun}};
  all["versions"] = json::array();
  for (const auto& version : image.versions) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(version.bytes.data());
    all["versions"].push_back({{"number", version.number},
                               {"clock", version.clock},
                               {"checksum", version.checksum},
                               {"bytes", json::binary({bytes, bytes + version.bytes.size()})}});
  }
  return all;
}

namespace {

policies::state_version version_of(const json& from) {
  const auto& bytes = from.at("bytes").get_binary();
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {.number = number_of<std::uint64_t>(from, "number"),
          .clock = number_of<std::uint64_t>(from, "clock"),
          .checksum = number_of<std::uint64_t>(from, "checksum"),
          .bytes = {begin, begin + bytes.size()}};
}

}  // namespace

policies::state_image image_of(const json& from) {
  policies::state_image image{.epoch = number_of<std::uint64_t>(from, "epoch"),
                              .has_history = flag_of(from, "has_history"),
                              .known_from = number_of<std::uint64_t>(from, "known_from"),
                              .begun = number_of<std::uint64_t>(from, "begun")};
  for (const auto& version : from.at("versions")) image.versions.push_back(version_of(version));
  if (image.versions.size() > policies::state_slots) throw bad_field("versions");
  return image;
}

}  // namespace tidegate::launch
