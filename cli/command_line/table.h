// SPDX-License-Identifier: Apache-2.0
//
// Formats text for display: aligned tables, and short forms of amounts.
//
// Names and reasons come from users and servers, so tables replace all characters that could control a terminal.
#ifndef COPSE_CLI_COMMAND_LINE_TABLE_H_
#define COPSE_CLI_COMMAND_LINE_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace copse::cli {

using TableRows = std::vector<std::vector<std::string>>;
using Details = std::vector<std::pair<std::string, std::string>>;  // keys and values

// Renders rows as lines with aligned columns. The first row, which must exist, has the titles; a column whose title
// ends in '>', which is not shown, is aligned to the right. All rows must have equally many cells (CHECK). Lines longer
// than `width` characters are cut and end in an ellipsis (0: unlimited).
std::string RenderTable(TableRows rows, size_t width = 0);

// Renders "key:   value" lines with aligned values; an empty value is shown as "-". `width` is that of RenderTable.
std::string RenderDetails(const Details& details, size_t width = 0);

// Replaces control characters by '?'; keeps line ends if `lines`.
std::string Printable(std::string_view text, bool lines = false);

// Cuts each line to `width` characters of UTF-8, the last of which is then an ellipsis (0: unlimited).
std::string CutLines(std::string_view text, size_t width);

// Formats {0, 1, 2, 3, 7} as "0-3,7"; "-" if empty. The numbers must be in ascending order.
std::string FormatRanges(const std::vector<uint32_t>& numbers);

// Formats "0.4 ms", "12.5 s", "3 min 20 s", "5 h 2 min", "2 d 3 h"; "0 s" if negative or not a number.
std::string FormatSeconds(double seconds);

// Formats "20 us", "1.5 ms" with `digits` significant digits.
std::string FormatNanoseconds(double nanoseconds, int digits = 4);

// Formats "10 Gbit/s", "200 Mbit/s".
std::string FormatBitsPerSecond(double bits_per_second);

}  // namespace copse::cli

#endif  // COPSE_CLI_COMMAND_LINE_TABLE_H_
