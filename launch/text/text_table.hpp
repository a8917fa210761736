// Columns of text, padded. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidegate::launch {

// Rows of cells; the first row is the heading. Columns named in `right` (by index) are
// right-aligned. Every line ends with a newline and carries no trailing blanks.
std::string format_table(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<std::size_t>& right = {});

// As printf writes the number by this format, which is for one double.
std::string number_text(const char* format, double value);

// "12.3 ms"
std::string milliseconds(double seconds);

// "1.5 MiB": rounded to one digit, for people.
std::string bytes_for_people(std::uint64_t bytes);

}  // namespace tidegate::launch
