// SPDX-License-Identifier: Apache-2.0
//
// Text for display: aligned tables, and short forms of amounts.
//
// Names and reasons come from users and servers, so all characters that could control a terminal are replaced.
#ifndef COPSE_CLI_CTL_TABLE_H_
#define COPSE_CLI_CTL_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace copse::ctl {

// A Table collects rows and prints them under a line of titles. Thread-compatible.
class Table {
 public:
  enum class Align : uint8_t { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row with one cell per column.
  void AddRow(std::vector<std::string> cells);

  // Renders lines of at most `width` characters (0: unlimited), cut with "…".
  std::string Render(size_t width) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Renders "key:   value" lines with aligned values.
std::string RenderDetails(const std::vector<std::pair<std::string, std::string>>& details, size_t width);

// Replaces control characters by '?'; keeps line ends if `lines`.
std::string Printable(std::string_view text, bool lines = false);

// Cuts each line to `width` characters, not bytes (0: unlimited).
std::string CutLines(std::string_view text, size_t width);

// Formats {0, 1, 2, 3, 7} as "0-3,7"; "-" if empty. Numbers ascend.
std::string FormatRanges(const std::vector<uint32_t>& numbers);

// Formats "0.4 ms", "12.5 s", "3 min 20 s", "5 h 2 min", "2 d 3 h".
std::string FormatSeconds(double seconds);

// Formats "20 us", "1.5 ms".
std::string FormatNanoseconds(double nanoseconds);

// Formats "10 Gbit/s", "200 Mbit/s".
std::string FormatBitsPerSecond(double bits_per_second);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TABLE_H_
