#include "runtime/ucx/ucx_queue.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/shm.h>
#include <unistd.h>

namespace tidegate::runtime {

namespace {

// As UCX lays them out (uct/sm/mm/base, 1.13.1): how many places were taken, of which the top
// bit is a flag; how many are free again; then the places. The first bit of a place says in
// which round of the queue it was written.
constexpr std::size_t taken_at = 0;
constexpr std::size_t freed_at = 128;
constexpr std::size_t places_at = 192;
constexpr std::uint64_t places = 64;
constexpr std::size_t place_bytes = 128;
constexpr std::size_t queue_bytes_min = places_at + places * place_bytes;
constexpr std::size_t queue_bytes_max = queue_bytes_min + 8192;  // in whole pages
constexpr std::uint64_t taken_mask = ~(std::uint64_t{1} << 63U);

std::uint64_t word(std::byte* queue, std::size_t at) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(queue + at)).load();
}

bool is_blocked(std::byte* queue) {
  const auto taken = word(queue, taken_at) & taken_mask;
  const auto freed = word(queue, freed_at);
  if (freed > taken || taken - freed > places) return false;  // no such queue
  for (auto place = freed; place < taken; ++place) {
    auto& flags =
        *reinterpret_cast<std::uint8_t*>(queue + places_at + place % places * place_bytes);
    const bool written = (std::atomic_ref(flags).load() & 1U) == (place / places & 1U);
    if (!written) return true;
  }
  return false;
}

}  // namespace

bool has_blocked_queue() {
  std::ifstream segments("/proc/sysvipc/shm");
  std::string line;
  std::getline(segments, line);  // the columns' names
  bool found = false;
  while (!found && std::getline(segments, line)) {
    std::istringstream words(line);
    std::string key, mode;
    int id = 0;
    pid_t maker = 0;
    std::size_t bytes = 0;
    words >> key >> id >> mode >> bytes >> maker;
    if (!words || maker != getpid() || bytes < queue_bytes_min || bytes > queue_bytes_max)
      continue;
    void* at = shmat(id, nullptr, 0);
    if (at == reinterpret_cast<void*>(-1)) continue;
    found = is_blocked(static_cast<std::byte*>(at));
    shmdt(at);
  }
  return found;
}

}  // namespace tidegate::runtime
