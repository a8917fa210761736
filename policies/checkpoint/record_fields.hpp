// What a record of the journal is written of and read from, as JSON. Pure; a reader that finds
// something else notes the first problem (corrupt) and goes on with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/checkpoint/json_text.hpp"
#include "policies/checkpoint/name.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/journal.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// JSON is UTF-8, and names and reasons may be any bytes: each byte is a character of its own.
std::string wide(std::string_view bytes);
std::string decode_text(json_fields& fields, const char* key, runtime::status& problem);
// A row of whole numbers of this size.
std::vector<std::uint64_t> row(json_fields& fields, const char* key, std::size_t size,
                               std::uint64_t most, runtime::status& problem);
// Returns the checkpoint that another one, `of`, needs, by its name under "base"; number 0
// where it needs no other, as those of earlier versions do. `subject` is for the message.
checkpoint_id decode_base(json_fields& fields, checkpoint_id of, const std::string& subject,
                          runtime::status& problem);
// A rows_spec, as ten numbers, and of each segment three and those of its optimizer; none of a
// dense table, as records before tables of rows have it.
nlohmann::json encode_rows(const rows_spec& rows);
rows_spec decode_rows(json_fields& fields, runtime::status& problem);
std::uint32_t number32(json_fields& fields, const char* key);
runtime::journal_entry entry(std::string key, const nlohmann::json& value);

}  // namespace tidegate::policies
