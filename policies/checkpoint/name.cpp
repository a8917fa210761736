#include "policies/checkpoint/name.hpp"

#include <charconv>

namespace tidegate::policies {

namespace {

constexpr std::string_view manifest_suffix = ".manifest";
constexpr std::string_view shard_suffix = ".safetensors";
constexpr std::size_t epoch_digits = 4;
constexpr std::size_t number_digits = 8;
constexpr std::size_t shard_digits = 4;

std::string padded(std::uint64_t number, std::size_t digits) {
  const auto text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string checkpoint_folder(std::string_view run_dir, std::string_view job) {
  return std::string(run_dir) + "/checkpoints/" + std::string(job);
}

std::string named_folder(const job_spec& job) {
  if (!job.checkpoint || job.checkpoint->path.empty()) return {};
  return job.checkpoint->path + "/" + job.name;
}

std::string checkpoint_folder(const job_spec& job, std::string_view run_dir) {
  auto named = named_folder(job);
  return named.empty() ? checkpoint_folder(run_dir, job.name) : named;
}

std::map<std::string, std::string> checkpoint_folders(const cluster_spec& cluster,
                                                      std::string_view run_dir) {
  std::map<std::string, std::string> folders;
  for (const auto& job : cluster.jobs)
    if (job.checkpoint) folders[job.name] = checkpoint_folder(job, run_dir);
  return folders;
}

std::string to_string(checkpoint_id id) {
  return "e" + padded(id.epoch, epoch_digits) + "-" + padded(id.number, number_digits);
}

std::optional<checkpoint_id> parse_checkpoint_id(std::string_view text) {
  checkpoint_id id;
  auto rest = text;
  if (!take(rest, "e") || !take_number(rest, id.epoch) || !take(rest, "-") ||
      !take_number(rest, id.number) || to_string(id) != text)
    return {};
  return id;
}

std::string manifest_name(checkpoint_id id) {
  return to_string(id) + std::string(manifest_suffix);
}

std::string shard_file_name(checkpoint_id id, std::uint32_t shard) {
  return to_string(id) + "-s" + padded(shard, shard_digits) + std::string(shard_suffix);
}

std::optional<checkpoint_file> parse_checkpoint_file(std::string_view name) {
  checkpoint_file file;
  auto rest = name;
  file.is_temporary = rest.ends_with(temporary_suffix);
  if (file.is_temporary) rest.remove_suffix(temporary_suffix.size());
  const auto whole = rest;
  std::uint32_t shard = 0;
  if (!take(rest, "e") || !take_number(rest, file.id.epoch) || !take(rest, "-") ||
      !take_number(rest, file.id.number))
    return {};
  file.is_manifest = rest == manifest_suffix;
  if (file.is_manifest)
    return whole == manifest_name(file.id) ? std::optional(file) : std::nullopt;
  if (!take(rest, "-s") || !take_number(rest, shard)) return {};
  return whole == shard_file_name(file.id, shard) ? std::optional(file) : std::nullopt;
}

}  // namespace tidegate::policies
