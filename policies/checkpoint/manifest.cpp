#include "policies/checkpoint/manifest.hpp"

#include <algorithm>
#include <set>

#include "policies/checkpoint/json_text.hpp"
#include "policies/checkpoint/record_fields.hpp"
#include "policies/checkpoint/safetensors.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/sha256.hpp"

namespace tidegate::policies {

using nlohmann::json;
using runtime::errc;
using runtime::fail;
using runtime::status;
namespace limits = runtime::limits;

namespace {

constexpr std::uint64_t manifest_format = 2;
constexpr int manifest_depth_max =
    5;  // manifest, parts, part, its chunks, a run; its numbers lie below
constexpr const char* policy_names[] = {"bsp", "ssp", "async"};

std::string hash_of(std::string_view text) {
  runtime::sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.finish();
}

std::string hash_line(std::string_view first_line) {
  return R"({"sha256":")" + hash_of(first_line) + "\"}\n";
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

json encode(const checkpoint_part& part) {
  json chunks = json::array();
  for (const auto& run : part.chunks) chunks.push_back({run.table, run.first, run.count});
  return {{"shard", part.shard},
          {"file", part.file.name},
          {"bytes", part.file.bytes},
          {"sha256", part.file.sha256},
          {"chunks", std::move(chunks)}};
}

// Every chunk of every table in exactly one part, and parts of different shards.
status check_cover(const checkpoint_manifest& manifest, errc code) {
  std::vector<chunk_run> runs;
  std::vector<std::uint32_t> shards;
  std::set<std::string_view> names;
  for (const auto& table : manifest.tables)
    if (!names.insert(table.name).second)
      return {code, "manifest: two tables are called '" + table.name + "'"};
  for (const auto& part : manifest.parts) {
    runs.insert(runs.end(), part.chunks.begin(), part.chunks.end());
    shards.push_back(part.shard);
  }
  std::sort(runs.begin(), runs.end());
  std::sort(shards.begin(), shards.end());
  if (std::adjacent_find(shards.begin(), shards.end()) != shards.end())
    return {code, "manifest: two parts are of one shard"};
  auto run = runs.begin();
  for (std::uint32_t table = 0; table < manifest.tables.size(); ++table) {
    std::uint64_t next = 0;
    for (; run != runs.end() && run->table == table && run->first == next; ++run) {
      if (run->count == 0) return {code, "manifest: a part lists no chunks"};
      next += run->count;
    }
    if (next != manifest.tables[table].chunks)
      return {code, "manifest: table '" + manifest.tables[table].name + "': chunk " +
                        std::to_string(next) + " is in no part, or in two"};
  }
  if (run != runs.end())
    return {code, "manifest: a part has chunks of no table, or of two parts"};
  return {};
}

checkpoint_table decode_table(const json& from, status& problem) {
  json_fields fields(from, "manifest: table", problem);
  checkpoint_table table;
  table.name = fields.text("name", limits::name_bytes_max);
  const auto& shape = fields.array("shape");
  if (is_row(shape, std::min(shape.size(), safetensors_dimensions_max), any_64))
    table.shape = shape.get<std::vector<std::uint64_t>>();
  else if (problem.ok())
    problem = {errc::corrupt, "manifest: table '" + table.name + "': its shape is not valid"};
  table.chunks = static_cast<std::uint32_t>(fields.number("chunks", limits::table_chunks_max));
  return table;
}

checkpoint_part decode_part(const json& from, checkpoint_id id, status& problem) {
  json_fields fields(from, "manifest: part", problem);
  checkpoint_part part;
  part.shard = static_cast<std::uint32_t>(fields.number("shard", limits::shards_max - 1));
  part.file.name = fields.text("file", runtime::file_name_bytes_max);
  part.file.bytes = fields.number("bytes");
  part.file.sha256 = fields.text("sha256", 64);
  for (const auto& run : fields.array("chunks")) {
    if (!is_row(run, 3, any_32)) {
      if (problem.ok()) problem = {errc::corrupt, "manifest: part: 'chunks' is of no chunks"};
      return part;
    }
    part.chunks.push_back({run[0].get<std::uint32_t>(), run[1].get<std::uint32_t>(),
                           run[2].get<std::uint32_t>()});
  }
  if (problem.ok() &&
      (part.file.name != shard_file_name(id, part.shard) || !is_sha256(part.file.sha256)))
    problem = {errc::corrupt, "manifest: part: '" + part.file.name + "' is no file of it"};
  return part;
}

runtime::expected<json> parse(std::string_view text) {
  if (text.size() > manifest_bytes_max)
    return fail(errc::corrupt, "manifest: larger than 64 MiB");
  const auto line = text.substr(0, text.find('\n') + 1);
  const bool right = !line.empty() && text.substr(line.size()) == hash_line(line);
  if (!right && !runtime::is_planted(runtime::planted_bug::checkpoint_hash_not_checked))
    return fail(errc::corrupt, "manifest: its SHA-256 is not that of its text");
  return parse_json_object(line, "manifest", manifest_depth_max);
}

}  // namespace

runtime::expected<std::string> encode_manifest(const checkpoint_manifest& manifest) {
  if (auto covered = check_cover(manifest, errc::invalid_argument); !covered)
    return fail(std::move(covered));
  json tables = json::array();
  for (const auto& table : manifest.tables)
    tables.push_back({{"name", table.name}, {"shape", table.shape}, {"chunks", table.chunks}});
  json parts = json::array();
  for (const auto& part : manifest.parts) parts.push_back(encode(part));
  auto text =
      json_line({{"format", manifest_format},
                 {"checkpoint", to_string(manifest.id)},
                 {"job", manifest.job},
                 {"seed", manifest.seed},
                 {"policy", policy_names[static_cast<std::size_t>(manifest.consistency.kind)]},
                 {"staleness", manifest.consistency.staleness},
                 {"workers", manifest.workers},
                 {"clock", manifest.clock},
                 {"left", manifest.left},
                 {"tables", std::move(tables)},
                 {"parts", std::move(parts)},
                 {"base", manifest.base.number == 0 ? "" : to_string(manifest.base)}});
  if (!text) return text;
  *text += "\n";
  return *text + hash_line(*text);
}

runtime::expected<checkpoint_manifest> decode_manifest(std::string_view text) {
  const auto from = parse(text);
  if (!from) return fail(from.error());
  status problem;
  json_fields fields(*from, "manifest", problem);
  if (const auto version = fields.number("format"); problem.ok() && version != manifest_format)
    return fail(errc::invalid_argument, "manifest: of format " + std::to_string(version) +
                                            "; this program reads format " +
                                            std::to_string(manifest_format));
  checkpoint_manifest manifest;
  const auto id = parse_checkpoint_id(fields.text("checkpoint", 64));
  manifest.id = id.value_or(checkpoint_id{});
  manifest.job = fields.text("job", limits::name_bytes_max);
  manifest.seed = fields.number("seed");
  const auto policy = fields.text("policy", 16);
  const auto* const kind = std::find(std::begin(policy_names), std::end(policy_names), policy);
  manifest.consistency.staleness =
      static_cast<std::uint32_t>(fields.number("staleness", any_32));
  manifest.workers = static_cast<std::uint32_t>(fields.number("workers", limits::workers_max));
  manifest.clock = fields.number("clock");
  const auto& left = fields.array("left");
  if (is_row(left, std::min<std::size_t>(left.size(), manifest.workers), manifest.workers))
    manifest.left = left.get<std::vector<std::uint32_t>>();
  else if (problem.ok())
    problem = {errc::corrupt, "manifest: 'left' is of no ranks"};
  for (const auto& table : fields.array("tables"))
    manifest.tables.push_back(decode_table(table, problem));
  for (const auto& part : fields.array("parts"))
    manifest.parts.push_back(decode_part(part, manifest.id, problem));
  manifest.base = decode_base(fields, manifest.id, "manifest", problem);
  if (problem.ok() && (!id || kind == std::end(policy_names)))
    problem = {errc::corrupt, "manifest: 'checkpoint' or 'policy' is not valid"};
  if (!problem) return fail(std::move(problem));
  manifest.consistency.kind = static_cast<consistency_kind>(kind - std::begin(policy_names));
  if (auto covered = check_cover(manifest, errc::corrupt); !covered)
    return fail(std::move(covered));
  return manifest;
}

}  // namespace tidegate::policies
