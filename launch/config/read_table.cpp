#include "launch/config/read_table.hpp"

#include <algorithm>

#include "launch/config/words.hpp"
#include "launch/config/yaml_keys.hpp"
#include "launch/text/scalars.hpp"
#include "policies/model/option_rules.hpp"
#include "policies/model/row_rules.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::launch {

namespace {

constexpr std::size_t dimensions_max = 8;
constexpr std::pair<std::string_view, bool> rows_words[] = {{"dynamic", true}};

// A value that only some optimizers have. One that the file gives and a --set of the name makes
// pointless is dropped without a word.
void read_option(const section& from, const policies::optimizer_rule& rule,
                 policies::optimizer_spec& into) {
  const auto* value = from.get(rule.name);
  if (value == nullptr) return;
  if (rule.belongs_to(into.kind)) {
    from.real(rule.name, into.*rule.value, rule.is_allowed);
    return;
  }
  const auto* name = from.get("name");
  if (name != nullptr && name->where.from_set() && !value->where.from_set()) return;
  from.wrong(rule.name, "does not belong to this optimizer");
}

// A schedule that is given replaces the one before as a whole.
runtime::rate_schedule read_schedule(const section& from, runtime::rate_schedule before) {
  using kind = runtime::schedule_kind;
  if (from.node() == nullptr) return before;
  auto form = kind::constant;
  if (!from.require("kind") || !from.choice<kind>("kind", form, schedule_words)) return before;
  auto schedule = policies::default_schedule(form);
  std::uint64_t warmup = 0;
  from.number("warmup", warmup, 0, policies::schedule_clocks_max);
  schedule.warmup = static_cast<std::uint32_t>(warmup);
  if (form == kind::constant) {
    for (const auto* key : {"clocks", "factor"})
      if (from.get(key) != nullptr) from.wrong(key, "does not belong to schedule 'constant'");
    return schedule;
  }
  std::uint64_t clocks = 1;
  if (from.require("clocks")) from.number("clocks", clocks, 1, policies::schedule_clocks_max);
  schedule.clocks = static_cast<std::uint32_t>(clocks);
  from.real("factor", schedule.factor, policies::is_share);
  return schedule;
}

bool read_dimension(const section& from, const yaml_node& item, std::uint64_t& into) {
  const auto n = item.is_scalar() ? parse_unsigned(item.text) : std::nullopt;
  if (n && *n >= 1) {
    into = *n;
    return true;
  }
  const auto shown = item.is_scalar() ? "'" + item.text + "'" : std::string(describe(item));
  from.note(item.where, from.shown() + ".shape: " + shown + " is no dimension; allowed: " +
                            std::string(key_of("jobs.*.tables.*.shape").allowed));
  return false;
}

bool read_shape(const section& from, std::vector<std::uint64_t>& into) {
  if (!from.require("shape")) return false;
  const auto& list = *from.get("shape");
  if (!list.is_list()) {
    from.wrong("shape", "is " + std::string(describe(list)));
    return false;
  }
  if (list.items.size() > dimensions_max) {
    from.wrong("shape", "has " + std::to_string(list.items.size()) + " dimensions");
    return false;
  }
  bool ok = true;
  bool fits = true;
  std::uint64_t elements = 1;
  std::vector<std::uint64_t> shape;
  for (const auto& item : list.items) {
    std::uint64_t n = 1;
    ok = read_dimension(from, item, n) && ok;
    // Division, since the product may not fit 64 bits.
    fits = fits && n <= runtime::limits::table_elements_max / elements;
    if (fits) elements *= n;
    shape.push_back(n);
  }
  if (!fits) from.wrong("shape", "has too many elements");
  if (ok && fits) into = std::move(shape);
  return ok && fits;
}

policies::init_spec read_init(const section& from) {
  policies::init_spec init;
  bool pushed = false;
  from.choice<bool>("pushed", pushed, truth_words);
  if (pushed) {
    init.kind = policies::init_kind::pushed;
    for (const auto* other : {from.get("uniform"), from.get("constant")})
      if (other != nullptr)
        from.note(other->where, from.shown() + ": pushed and another way are given; allowed: " +
                                    std::string(key_of(from.pattern()).allowed));
  } else if (from.get("uniform") != nullptr) {
    init.kind = policies::init_kind::uniform;
    from.real("uniform", init.value, policies::is_finite_not_negative);
    if (const auto* constant = from.get("constant")) {
      from.note(constant->where, from.shown() +
                                     ": both uniform and constant are given; allowed: " +
                                     std::string(key_of(from.pattern()).allowed));
    }
  } else {
    from.real("constant", init.value, policies::is_finite);
  }
  return init;
}

// Returns false where the number is given and not right.
bool read_number(const section& from, std::string_view key, std::uint64_t most,
                 std::optional<std::uint64_t>& into) {
  if (from.get(key) == nullptr) return true;
  std::uint64_t number = 0;
  if (!from.number(key, number, 1, most)) return false;
  into = number;
  return true;
}

// "5000 clocks".
bool read_clocks(const section& from, std::string_view key,
                 std::optional<std::uint64_t>& into) {
  if (from.get(key) == nullptr) return true;
  std::string text;
  return from.text(key, text, [&](std::string_view given) {
    constexpr std::string_view unit = " clocks";
    if (given.ends_with(unit))
      into = parse_unsigned(given.substr(0, given.size() - unit.size()));
    return into && *into >= 1 && *into <= policies::unseen_clocks_max;
  });
}

// When rows come and go. Returns false where something is not right.
bool read_lifetime(const section& from, std::optional<std::uint64_t> capacity,
                   policies::rows_spec& into) {
  policies::lifetime_options options;
  const auto admit = from.child("admit");
  const auto evict = from.child("evict");
  constexpr auto rows_max = runtime::limits::table_rows_max;
  const bool ok = read_number(admit, "count", policies::admit_count_max, options.admit_count) &&
                  read_number(admit, "candidates", rows_max, options.candidates) &&
                  read_clocks(evict, "unseen", options.unseen) &&
                  read_number(evict, "rows", rows_max, options.rows);
  if (!ok) return false;
  using order = runtime::eviction_order;
  if (evict.get("by") != nullptr &&
      !evict.choice<order>("by", options.by.emplace(), policies::eviction_words))
    return false;
  const auto set = policies::set_lifetime(options, capacity, into);
  if (!set.ok()) from.note(from.where(), from.shown() + ": " + set.message());
  return set.ok();
}

// The columns of a segment. Returns false where something is not right.
bool read_segment(const section& from, const policies::optimizer_spec& base,
                  std::vector<policies::row_segment_spec>& into) {
  std::uint64_t columns = 0;
  if (!from.require("columns") ||
      !from.number("columns", columns, 1, runtime::limits::row_dim_max))
    return false;
  policies::row_segment_spec segment;
  segment.columns = static_cast<std::uint32_t>(columns);
  segment.optimizer = read_optimizer(from, base);
  const auto init = from.child("init");
  if (init.node() != nullptr) segment.init = read_init(init);
  into.push_back(segment);
  return true;
}

// Returns false where something is not right.
bool read_segments(const section& from, const policies::optimizer_spec& base,
                   std::vector<policies::row_segment_spec>& into) {
  const auto* list = from.get("segments");
  if (list == nullptr) return true;
  if (!list->is_list() || list->items.empty()) {
    from.wrong("segments", "is " + std::string(describe(*list)));
    return false;
  }
  bool ok = true;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const auto& item = list->items[i];
    const section own(item.is_map() ? &item : nullptr, item.where, "jobs.*.tables.*.segments.*",
                      join_path(from.shown(), "segments[" + std::to_string(i) + "]"),
                      from.out());
    if (!item.is_map())
      own.note(item.where, own.shown() + ": is " + std::string(describe(item)) +
                               "; allowed: " + std::string(key_of(own.pattern()).allowed));
    ok = item.is_map() && read_segment(own, base, into) && ok;
  }
  for (const auto* key : {"optimizer", "init"})
    if (from.get(key) != nullptr) from.wrong(key, "does not go with segments, which have it");
  return ok;
}

// Returns false where it is given and not right.
bool read_memory(const section& from, std::uint64_t parts, policies::rows_spec& into) {
  using namespace runtime::limits;
  return from.get("memory") == nullptr ||
         from.bytes("memory", into.memory, parts * part_memory_min, row_memory_max, 1);
}

// A table of rows. Returns false where its numbers are not right.
bool read_rows(const section& from, const policies::optimizer_spec& base,
               policies::table_spec& into) {
  if (from.get("shape") != nullptr) from.wrong("shape", "does not belong to a table of rows");
  bool is_dynamic = false;
  std::uint64_t dim = 0;
  into.rows.capacity = policies::row_capacity_default;
  std::optional<std::uint64_t> capacity;
  std::optional<std::uint64_t> parts;
  const bool has_dim = from.get("segments") == nullptr || from.get("dim") != nullptr;
  const bool ok = from.choice<bool>("rows", is_dynamic, rows_words) &&
                  (!has_dim || (from.require("dim") &&
                                from.number("dim", dim, 1, runtime::limits::row_dim_max))) &&
                  read_segments(from, base, into.rows.segments) &&
                  read_number(from, "capacity", runtime::limits::table_rows_max, capacity) &&
                  read_number(from, "parts", runtime::limits::row_parts_max, parts) &&
                  read_lifetime(from, capacity, into.rows) &&
                  read_memory(from, parts.value_or(policies::row_parts_default), into.rows);
  if (!ok) return false;
  into.rows.dim = static_cast<std::uint32_t>(dim);
  into.shape = {parts.value_or(policies::row_parts_default)};
  const auto init = from.child("init");
  if (init.node() != nullptr) into.rows.init = read_init(init);
  return true;
}

void refuse_keys_of_rows(const section& from) {
  for (const auto* key : {"dim", "segments", "capacity", "parts", "admit", "evict", "memory"})
    if (from.get(key) != nullptr) from.wrong(key, "does not belong to a dense table");
}

bool is_table_name(std::string_view name) {
  return !name.empty() && name.size() <= runtime::limits::name_bytes_max &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

// Another optimizer has its own defaults, but for what it shares with the job's.
policies::optimizer_spec optimizer_named(std::string_view name,
                                         const policies::optimizer_spec& base) {
  const auto kind = runtime::find_optimizer(name).value_or(base.kind);
  if (kind == base.kind && name == runtime::name_of(base)) return base;
  using option = runtime::optimizer_option;
  auto spec = policies::default_optimizer(kind);
  spec.rule = runtime::rule_of_word(name).value_or(runtime::rule_name());
  const auto has = [&](option wanted) {
    return runtime::contains(runtime::traits_of(kind).options, wanted);
  };
  if (has(option::schedule)) spec.schedule = base.schedule;
  if (has(option::clip_value)) spec.clip_value = base.clip_value;
  spec.lazy = base.lazy;
  spec.reduce = base.reduce;
  spec.reduce_rule = base.reduce_rule;
  // The job's rate is of optimizers that step as its own does.
  if (spec.learning_rate == policies::default_optimizer(base.kind).learning_rate)
    spec.learning_rate = base.learning_rate;
  return spec;
}

// Words of plugins are not among those of a choice, which any library may add to.
bool is_plugin_word(const section& from, const char* key) {
  const auto* const given = from.get(key);
  return given != nullptr && given->is_scalar() && runtime::rule_of_word(given->text);
}

// Returns false for a name that is wrong, of which it has told; without one `name` stays.
bool read_optimizer_name(const section& from, std::string& name) {
  if (from.get("name") == nullptr) return true;
  auto kind = policies::optimizer_kind::sgd;
  if (!is_plugin_word(from, "name") &&
      !from.choice<policies::optimizer_kind>("name", kind, optimizer_words))
    return false;
  name = from.get("name")->text;
  return true;
}

void read_reduction(const section& from, policies::optimizer_spec& into) {
  if (is_plugin_word(from, "reduce")) {
    policies::set_reduction(from.get("reduce")->text, into);
  } else if (from.choice<runtime::reduction>("reduce", into.reduce, reduction_words) &&
             from.get("reduce") != nullptr) {
    into.reduce_rule = {};
  }
}

void read_states(const section& from, policies::optimizer_spec& into) {
  if (from.get("states") == nullptr) return;
  if (into.kind != policies::optimizer_kind::plugin)
    return from.wrong("states", "does not belong to this optimizer");
  std::uint64_t states = 0;
  if (from.number("states", states, 0, runtime::states_max))
    into.rule_states = static_cast<std::uint32_t>(states);
}

}  // namespace

policies::optimizer_spec read_optimizer(const section& parent,
                                        const policies::optimizer_spec& base) {
  using option = runtime::optimizer_option;
  if (const auto* given = parent.get("optimizer"); given != nullptr && given->is_scalar()) {
    const auto found = runtime::find_optimizer(std::string_view(given->text));
    if (!found)
      parent.note(given->where, parent.shown() + ".optimizer: '" + given->text +
                                    "' is not allowed; allowed: " +
                                    runtime::optimizer_names(option::learning_rate) +
                                    ", or a map");
    return found ? optimizer_named(given->text, base) : base;
  }
  const auto from = parent.child("optimizer");
  // Were the name wrong, nothing could be said about which keys belong to it.
  auto named = runtime::name_of(base);
  const bool known = read_optimizer_name(from, named);
  auto spec = optimizer_named(named, base);
  for (const auto& rule : policies::optimizer_rules)
    if (known || rule.belongs_to_all()) read_option(from, rule, spec);
  const bool has_schedule =
      runtime::contains(runtime::traits_of(spec.kind).options, option::schedule);
  if (has_schedule)
    spec.schedule = read_schedule(from.child("schedule"), spec.schedule);
  else if (known && from.get("schedule") != nullptr)
    from.wrong("schedule", "does not belong to this optimizer");
  from.choice<bool>("lazy", spec.lazy, truth_words);
  read_reduction(from, spec);
  if (known) read_states(from, spec);
  return spec;
}

std::vector<policies::table_spec> read_tables(const section& from,
                                              const policies::job_spec& job) {
  std::vector<policies::table_spec> tables;
  if (from.node() == nullptr) return tables;
  for (const auto& e : from.node()->entries) {
    if (!is_table_name(e.key)) {
      from.note(e.where, from.shown() + ": '" + e.key + "' is no table name; allowed: " +
                             std::string(key_of("jobs.*.tables.*").allowed));
    }
    const section own(e.value.is_map() ? &e.value : nullptr, e.value.where, "jobs.*.tables.*",
                      join_path(from.shown(), e.key), from.out());
    if (!e.value.is_map()) {
      from.note(e.value.where, own.shown() + ": is " + std::string(describe(e.value)) +
                                   "; allowed: a map with a shape");
      continue;
    }
    policies::table_spec table;
    table.name = e.key;
    const bool has_rows = own.get("rows") != nullptr;
    const bool ok =
        has_rows ? read_rows(own, job.optimizer, table) : read_shape(own, table.shape);
    if (!has_rows) {
      refuse_keys_of_rows(own);
      table.init = read_init(own.child("init"));
    }
    table.optimizer = read_optimizer(own, job.optimizer);
    policies::settle_segments(table);
    if (!ok) continue;
    if (const auto checked = policies::check_table(table, job); !checked.ok())
      own.note(own.where(), own.shown() + ": " + checked.message());
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace tidegate::launch
