#include "launch/simulate/cluster/knobs.hpp"

#include <iterator>

namespace tidegate::sim {

namespace {

struct knob {
  const char* name;
  void (*draw)(draws& chance, knobs& into);
};

// Chunks are small here, and so are limits that are reached.
constexpr knob all[] = {
    {"turn_bytes",  // a small turn makes the shard stop between any two steps
     [](draws& chance, knobs& into) {
       into.turn_bytes = chance.between<std::uint64_t>(1, 512);
     }},
    {"retransmit.first",
     [](draws& chance, knobs& into) {
       into.retransmit.first_ns = chance.between<nanoseconds>(5 * millisecond, 4 * second);
     }},
    {"retransmit.growth",
     [](draws& chance, knobs& into) {
       into.retransmit.growth = chance.between<std::int64_t>(2, 5);
     }},
    {"retransmit.look",
     [](draws& chance, knobs& into) {
       into.look = chance.between<nanoseconds>(millisecond, second);
     }},
    {"sends.messages",
     [](draws& chance, knobs& into) {
       into.sends.messages = chance.between<std::uint32_t>(1, 4);
     }},
    {"sends.bytes",
     [](draws& chance, knobs& into) {
       into.sends.bytes = chance.between<std::uint64_t>(1, 1024);
     }},
    {"sends.bundle_frames",
     [](draws& chance, knobs& into) {
       into.sends.bundle_frames = chance.between<std::size_t>(1, 8);
     }},
    {"sends.bundle_bytes",
     [](draws& chance, knobs& into) {
       into.sends.bundle_bytes = chance.between<std::uint64_t>(1, 1024);
     }},
    {"sends.small_bytes",
     [](draws& chance, knobs& into) {
       into.sends.small_bytes = chance.between<std::uint64_t>(0, 256);
     }},
    {"turn", [](draws& chance,
                knobs& into) { into.turn = chance.between<nanoseconds>(1, millisecond); }},
    {"go_on", [](draws& chance,
                 knobs& into) { into.go_on = chance.between<nanoseconds>(0, millisecond); }},
    {"launcher.poll",
     [](draws& chance, knobs& into) {
       into.poll = chance.between<nanoseconds>(5 * millisecond, second);
     }},
    {"launcher.start",
     [](draws& chance, knobs& into) {
       into.start_most = chance.between<nanoseconds>(0, 2 * second);
     }},
    {"network.grain",
     [](draws& chance, knobs& into) {
       into.grain = chance.between<nanoseconds>(10 * microsecond, millisecond);
     }},
    {"session.report",
     [](draws& chance, knobs& into) {
       into.report = chance.between<nanoseconds>(0, 100 * millisecond);
     }},
    {"program.mistakes", [](draws&, knobs& into) { into.mistakes = 0.2; }},
};

}  // namespace

knobs draw_knobs(draws& chance) {
  knobs result;
  if (chance.chance(0.25)) return result;  // as in production
  for (std::size_t i = 0; i < std::size(all); ++i) {
    if (!chance.chance(0.25)) continue;
    all[i].draw(chance, result);
    result.turned |= std::uint64_t{1} << i;
  }
  return result;
}

std::vector<std::string> unturned_knobs(std::uint64_t turned) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::size(all); ++i)
    if ((turned >> i & 1) == 0) names.emplace_back(all[i].name);
  return names;
}

}  // namespace tidegate::sim
