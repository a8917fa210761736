// Every bound of the system in one place. Units in the names; each has a test that reaches it.
#pragma once

#include <cstdint>

namespace tidegate::runtime::limits {

// Clocks of one worker whose pushes a shard has not acknowledged. The credit window: a worker
// waits before it pushes beyond it and a shard refuses pushes beyond it, so a shard buffers at
// most workers x this x its bytes of the table.
inline constexpr std::uint32_t clocks_in_flight_max = 2;

inline constexpr std::uint32_t workers_max = 1024;  // per job
inline constexpr std::uint32_t shards_max = 1024;   // per cluster
// Others of its host that a process shares memory with: all workers of a job and all other
// shards. Each has a line in the page that the process shows to them.
inline constexpr std::uint32_t host_peers_max = workers_max + shards_max - 1;
inline constexpr std::uint32_t tables_max = 65'536;  // per cluster
inline constexpr std::uint64_t chunk_bytes_min = 64;
inline constexpr std::uint64_t chunk_bytes_max = 64ull << 20;
// Arrays of chunks that a device has room for, at least, where its memory is a cache.
inline constexpr std::uint64_t device_chunks_min = 16;
inline constexpr std::uint64_t table_elements_max = 1ull << 40;
inline constexpr std::uint64_t table_chunks_max = 1u << 20;
inline constexpr std::uint32_t row_dim_max = 4096;    // float32 values of a row
inline constexpr std::size_t row_segments_max = 8;    // that leases have room for
inline constexpr std::uint32_t row_parts_max = 4096;  // of a table of rows
inline constexpr std::uint64_t part_rows_max = 1ull << 30;
inline constexpr std::uint64_t table_rows_max = 1ull << 36;
// What stays in memory of a table of rows that is larger: of each of its parts at least, and of
// the table on a shard at most.
inline constexpr std::uint64_t part_memory_min = 64ull << 10;
inline constexpr std::uint64_t row_memory_max = 1ull << 44;
inline constexpr std::uint32_t name_bytes_max = 128;  // of jobs, tables, metrics
inline constexpr std::uint32_t metrics_max = 64;      // named values per job
inline constexpr std::uint32_t events_max = 65'536;   // kept by the coordinator

}  // namespace tidegate::runtime::limits
