#include "policies/checkpoint/image.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "policies/checkpoint/json_text.hpp"
#include "policies/checkpoint/record_fields.hpp"
#include "policies/model/row_rules.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

using nlohmann::json;
using runtime::errc;
using runtime::fail;
using runtime::status;
namespace limits = runtime::limits;

namespace {

constexpr std::uint64_t format = 1;
constexpr const char* title_key = "tidegate";  // no chunk's, which have a slash
constexpr const char* array_names[] = {"parameters", "state1", "state2"};
constexpr const char* row_array_names[chunk_arrays_max] = {"values", "states", "rows",
                                                           "candidates"};

// The last slashes are ours, so no two chunks share a key, whatever tables are called.
std::string key_of(const chunk_description& chunk) {
  return chunk.table + "/" + std::to_string(chunk.chunk);
}

std::string tensor_name(const chunk_description& chunk, std::size_t array) {
  return key_of(chunk) + "/" + (chunk.rows.dim > 0 ? row_array_names : array_names)[array];
}

// Rows that a tensor of a part of a table of rows has.
std::uint64_t rows_of(const chunk_description& chunk, std::size_t array) {
  if (array == candidates_array) return chunk.candidate_count;
  return chunk.needs_base() && array < numbers_array ? chunk.changed_count : chunk.row_count;
}

safetensors_tensor tensor_of(const chunk_description& chunk, std::size_t array) {
  const auto name = tensor_name(chunk, array);
  if (chunk.rows.dim == 0) return {.name = name, .shape = {chunk.elements}};
  const bool is_of_numbers = array >= numbers_array;
  return {
      .name = name,
      .shape = {rows_of(chunk, array), is_of_numbers ? row_numbers : row_floats(chunk, array)},
      .type = is_of_numbers ? safetensors_type::u64 : safetensors_type::f32};
}

json encode(const runtime::rate_schedule& schedule) {
  return {{"kind", runtime::schedule_name(schedule.kind)},
          {"warmup", schedule.warmup},
          {"clocks", schedule.clocks},
          {"factor", schedule.factor}};
}

// Floats are written as the doubles they are, and doubles so that they are read again exactly.
json encode(const optimizer_spec& spec) {
  return {{"kind", runtime::name_of(spec)},
          {"learning_rate", spec.learning_rate},
          {"momentum", spec.momentum},
          {"beta1", spec.beta1},
          {"beta2", spec.beta2},
          {"epsilon", spec.epsilon},
          {"weight_decay", spec.weight_decay},
          {"l1", spec.l1},
          {"l2", spec.l2},
          {"beta", spec.beta},
          {"l21", spec.l21},
          {"clip_value", spec.clip_value},
          {"schedule", encode(spec.schedule)},
          {"lazy", spec.lazy ? 1U : 0U},
          {"reduce", static_cast<std::uint64_t>(spec.reduce)},
          {"reduce_rule", spec.reduce_rule.view()},
          {"states", spec.rule_states}};
}

bool all_finite(const chunk_description& chunk) {
  const auto& o = chunk.optimizer;
  const double all[] = {o.learning_rate,
                        o.momentum,
                        o.beta1,
                        o.beta2,
                        o.epsilon,
                        o.weight_decay,
                        o.clip_value,
                        o.schedule.factor,
                        chunk.beta1_power,
                        chunk.beta2_power,
                        o.l1,
                        o.l2,
                        o.beta,
                        o.l21};
  return std::all_of(std::begin(all), std::end(all), [](double x) { return std::isfinite(x); });
}

// Workers are mostly at the same clock: [next, finished, how many of them].
json encode(const std::vector<rank_progress>& ranks) {
  json runs = json::array();
  for (std::size_t i = 0; i < ranks.size();) {
    auto end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[i]) ++end;
    runs.push_back({ranks[i].next, ranks[i].finished ? 1U : 0U, end - i});
    i = end;
  }
  return runs;
}

json encode(const chunk_description& chunk) {
  json all = {{"table", chunk.table},
              {"shape", chunk.shape},
              {"chunk", chunk.chunk},
              {"first", chunk.first},
              {"elements", chunk.elements},
              {"optimizer", encode(chunk.optimizer)},
              {"version", chunk.version},
              {"beta1_power", chunk.beta1_power},
              {"beta2_power", chunk.beta2_power},
              {"ranks", encode(chunk.ranks)}};
  if (chunk.rows.dim > 0) {
    all["rows"] = encode_rows(chunk.rows);
    all["row_count"] = {chunk.row_count, chunk.row_state, chunk.candidate_count,
                        chunk.row_clock};
    if (chunk.needs_base()) {
      all["base"] = to_string(chunk.base);
      all["changed"] = {chunk.row_since, chunk.changed_count};
    }
  }
  return all;
}

runtime::rate_schedule decode_schedule(const json& from, const std::string& subject,
                                       status& problem) {
  json_fields fields(from, subject + ": schedule", problem);
  const auto name = fields.text("kind", 16);
  const auto kind = runtime::find_schedule(name);
  if (!kind) {
    if (problem.ok()) problem = {errc::corrupt, subject + ": unknown schedule '" + name + "'"};
    return {};
  }
  runtime::rate_schedule schedule;
  schedule.kind = *kind;
  schedule.warmup = static_cast<std::uint32_t>(fields.number("warmup", any_32));
  schedule.clocks = static_cast<std::uint32_t>(fields.number("clocks", any_32));
  schedule.factor = static_cast<float>(fields.real("factor"));
  if (problem.ok() && !is_complete(schedule))
    problem = {errc::corrupt, subject + ": schedule '" + name + "' has no clocks"};
  return schedule;
}

optimizer_spec decode_optimizer(const json& from, const std::string& subject, status& problem) {
  json_fields fields(from, subject + ": optimizer", problem);
  optimizer_spec optimizer;
  const auto kind = fields.text("kind", 32);
  const auto found = runtime::find_optimizer(kind);
  if (!found) {
    if (problem.ok()) problem = {errc::corrupt, subject + ": unknown optimizer '" + kind + "'"};
    return optimizer;
  }
  optimizer.kind = *found;
  optimizer.rule = runtime::rule_of_word(kind).value_or(runtime::rule_name());
  optimizer.learning_rate = static_cast<float>(fields.real("learning_rate"));
  optimizer.momentum = static_cast<float>(fields.real("momentum"));
  optimizer.beta1 = static_cast<float>(fields.real("beta1"));
  optimizer.beta2 = static_cast<float>(fields.real("beta2"));
  optimizer.epsilon = static_cast<float>(fields.real("epsilon"));
  optimizer.weight_decay = static_cast<float>(fields.real("weight_decay"));
  // Checkpoints of Tidegate 0.2 have neither.
  if (from.contains("clip_value"))
    optimizer.clip_value = static_cast<float>(fields.real("clip_value"));
  if (from.contains("schedule"))
    optimizer.schedule = decode_schedule(fields.object("schedule"), subject, problem);
  // Those before ranges have none of these.
  if (from.contains("lazy")) optimizer.lazy = fields.number("lazy", 1) == 1;
  if (from.contains("l1")) optimizer.l1 = static_cast<float>(fields.real("l1"));
  if (from.contains("l2")) optimizer.l2 = static_cast<float>(fields.real("l2"));
  // Those before optimizers of rows alone have none of these.
  if (from.contains("beta")) optimizer.beta = static_cast<float>(fields.real("beta"));
  if (from.contains("l21")) optimizer.l21 = static_cast<float>(fields.real("l21"));
  // Those before reductions of tables have none.
  if (from.contains("reduce"))
    optimizer.reduce = *runtime::find_reduction(
        fields.number("reduce", static_cast<std::uint64_t>(runtime::reduction::plugin)));
  // Those before rules of plugins have neither.
  if (from.contains("states"))
    optimizer.rule_states =
        static_cast<std::uint32_t>(fields.number("states", runtime::states_max));
  if (optimizer.reduce == runtime::reduction::plugin) {
    const auto rule = runtime::make_rule_name(fields.text("reduce_rule", 32));
    if (rule)
      optimizer.reduce_rule = *rule;
    else if (problem.ok())
      problem = {errc::corrupt, subject + ": 'reduce_rule' is no name"};
  }
  return optimizer;
}

std::vector<rank_progress> decode_ranks(const json& runs, const std::string& subject,
                                        status& problem) {
  std::vector<rank_progress> progress;
  for (const auto& run : runs) {
    if (!is_row(run, 3, any_64) || run[1].get<std::uint64_t>() > 1 ||
        run[2].get<std::uint64_t>() > limits::workers_max - progress.size()) {
      if (problem.ok()) problem = {errc::corrupt, subject + ": 'ranks' is not of workers"};
      return progress;
    }
    progress.insert(progress.end(), run[2].get<std::size_t>(),
                    {run[0].get<std::uint64_t>(), run[1].get<std::uint64_t>() == 1});
  }
  return progress;
}

// Whether the chunk lies in its table.
bool fits(const chunk_description& chunk) {
  const table_spec table{.name = chunk.table,
                         .shape = chunk.shape,
                         .optimizer = {},
                         .init = {},
                         .rows = chunk.rows};
  if (!fits_optimizer(table, chunk.optimizer.kind)) return false;
  const auto& segments = chunk.rows.segments;
  if (!segments.empty() && segments.front().optimizer != chunk.optimizer) return false;
  if (table.has_rows() &&
      (chunk.elements != 1 || chunk.row_count > chunk.rows.capacity * 2 + 8192 ||
       chunk.changed_count > chunk.row_count ||
       chunk.candidate_count > chunk.rows.lifetime.candidates + runtime::lifetime_block ||
       chunk.row_state > 2 * runtime::limits::row_dim_max))
    return false;
  const auto size = table.size();
  return size <= limits::table_elements_max && chunk.elements > 0 && chunk.first <= size &&
         chunk.elements <= size - chunk.first;
}

// `of`: the checkpoint that the file is of.
runtime::expected<chunk_description> decode_chunk(const std::string& key,
                                                  const std::string& text, checkpoint_id of) {
  const auto subject = "chunk '" + key + "'";
  const auto from = parse_json_object(text, subject, 3);
  if (!from) return fail(from.error());
  status problem;
  json_fields fields(*from, subject, problem);
  chunk_description description;
  description.table = fields.text("table", limits::name_bytes_max);
  const auto& shape = fields.array("shape");
  if (is_row(shape, std::min(shape.size(), safetensors_dimensions_max), any_64))
    description.shape = shape.get<std::vector<std::uint64_t>>();
  else if (problem.ok())
    problem = {errc::corrupt, subject + ": 'shape' is no list of at most 64 sizes"};
  description.chunk =
      static_cast<std::uint32_t>(fields.number("chunk", limits::table_chunks_max - 1));
  description.first = fields.number("first");
  description.elements = fields.number("elements");
  description.optimizer = decode_optimizer(fields.object("optimizer"), subject, problem);
  description.version = fields.number("version");
  description.beta1_power = fields.real("beta1_power");
  description.beta2_power = fields.real("beta2_power");
  description.ranks = decode_ranks(fields.array("ranks"), subject, problem);
  description.rows = decode_rows(fields, problem);
  if (description.rows.dim > 0) {
    // Checkpoints before lifetimes of rows have two numbers.
    const auto size = fields.array("row_count").size();
    auto of_rows = row(fields, "row_count", size == 2 ? 2 : 4, any_64, problem);
    of_rows.resize(4);
    description.candidate_count = of_rows[2];
    description.row_clock = of_rows[3];
    description.row_count = of_rows[0];
    description.row_state = static_cast<std::uint32_t>(std::min(of_rows[1], any_32));
    description.base = decode_base(fields, of, subject, problem);
    if (description.needs_base()) {
      const auto changed = row(fields, "changed", 2, any_64, problem);
      description.row_since = changed[0];
      description.changed_count = changed[1];
    }
  }
  if (!problem) return fail(std::move(problem));
  if (key != key_of(description) || !fits(description))
    return fail(errc::corrupt, subject + ": is not a part of its table");
  return description;
}

runtime::expected<shard_file_title> decode_title(const safetensors_header& header) {
  const auto found = header.metadata.find(title_key);
  if (found == header.metadata.end())
    return fail(errc::invalid_argument, "this safetensors file is not of a checkpoint");
  const auto from = parse_json_object(found->second, "title", 1);
  if (!from) return fail(from.error());
  status problem;
  json_fields fields(*from, "title", problem);
  shard_file_title title;
  const auto version = fields.number("format");
  title.job = fields.text("job", limits::name_bytes_max);
  const auto id = parse_checkpoint_id(fields.text("checkpoint", 64));
  title.shard = static_cast<std::uint32_t>(fields.number("shard", limits::shards_max - 1));
  if (!problem) return fail(std::move(problem));
  if (version != format)
    return fail(errc::invalid_argument, "a checkpoint of format " + std::to_string(version) +
                                            "; this program reads format 1");
  if (!id) return fail(errc::corrupt, "title: 'checkpoint' names none");
  title.id = *id;
  return title;
}

}  // namespace

runtime::expected<std::string> encode_shard_file(const shard_file_title& title,
                                                 std::span<const chunk_image> chunks) {
  safetensors_header header;
  auto about = json_line({{"format", format},
                          {"job", title.job},
                          {"checkpoint", to_string(title.id)},
                          {"shard", title.shard}});
  if (!about) return about;
  header.metadata[title_key] = std::move(*about);
  for (const auto& chunk : chunks) {
    if (!all_finite(chunk.about))
      return fail(errc::invalid_argument,
                  "table '" + chunk.about.table + "' has a hyperparameter that is no number");
    auto text = json_line(encode(chunk.about));
    if (!text) return text;
    header.metadata[key_of(chunk.about)] = std::move(*text);
    for (std::size_t i = 0; i < chunk_arrays(chunk.about); ++i) {
      TIDEGATE_ASSERT(chunk.arrays[i].size() == stored_floats(chunk.about, i),
                      "an array is whole");
      header.tensors.push_back(tensor_of(chunk.about, i));
    }
  }
  return encode_safetensors(header);
}

runtime::expected<shard_file_contents> decode_shard_file(std::string_view text,
                                                         std::uint64_t file_bytes) {
  const auto header = decode_safetensors(text, file_bytes);
  if (!header) return fail(header.error());
  auto title = decode_title(*header);
  if (!title) return fail(title.error());
  std::map<std::string_view, const safetensors_tensor*> tensors;
  for (const auto& tensor : header->tensors) tensors[tensor.name] = &tensor;
  shard_file_contents contents{std::move(*title), {}};
  for (const auto& [key, value] : header->metadata) {
    if (key == title_key) continue;
    auto about = decode_chunk(key, value, contents.title.id);
    if (!about) return fail(about.error());
    auto& chunk = contents.chunks.emplace_back(stored_chunk{std::move(*about), {}});
    for (std::size_t i = 0; i < chunk_arrays(chunk.about); ++i) {
      const auto name = tensor_name(chunk.about, i);
      const auto found = tensors.find(name);
      if (found == tensors.end() ||
          found->second->bytes / sizeof(float) != stored_floats(chunk.about, i))
        return fail(errc::corrupt,
                    "chunk '" + key + "': has no tensor '" + name + "' of its size");
      chunk.offsets[i] = found->second->offset;
      tensors.erase(found);
    }
  }
  if (!tensors.empty())
    return fail(errc::corrupt, "tensor '" + std::string(tensors.begin()->first) +
                                   "' belongs to no chunk of the file");
  std::sort(contents.chunks.begin(), contents.chunks.end(), [](const auto& a, const auto& b) {
    return std::tie(a.about.table, a.about.chunk) < std::tie(b.about.table, b.about.chunk);
  });
  return contents;
}

}  // namespace tidegate::policies
