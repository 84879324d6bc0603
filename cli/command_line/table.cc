// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/string_view.h"

namespace copse::cli {
namespace {

constexpr size_t kGap = 2;

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Counts the characters of UTF-8.
size_t CharacterCount(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

std::string Cut(std::string_view text, size_t width) {
  if (width == 0 || CharacterCount(text) <= width) return std::string(text);
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (StartsCharacter(text[i]) && ++characters == width) {
      return absl::StrCat(AbslView(text.substr(0, i)), "…");
    }
  }
  return std::string(text);
}

// Formats `value`, given in units[0], in the largest unit in which it is at least 1. Each unit is 1000 times the one
// before.
std::string Scaled(double value, int digits, const std::array<const char*, 4>& units) {
  size_t unit = 0;
  for (; unit + 1 < units.size() && std::abs(value) >= 1000; ++unit) value /= 1000;
  return absl::StrFormat("%.*g %s", digits, value, units[unit]);
}

}  // namespace

std::string RenderTable(TableRows rows, size_t width) {
  const size_t columns = rows[0].size();
  std::vector<bool> right(columns);
  for (size_t i = 0; i < columns; ++i) {
    right[i] = !rows[0][i].empty() && rows[0][i].back() == '>';
    if (right[i]) rows[0][i].pop_back();
  }
  std::vector<size_t> widths(columns);
  for (std::vector<std::string>& row : rows) {
    CHECK_EQ(row.size(), columns);
    for (size_t i = 0; i < columns; ++i) {
      row[i] = Printable(row[i]);
      widths[i] = std::max(widths[i], CharacterCount(row[i]));
    }
  }
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < columns; ++i) {
      const std::string padding(widths[i] - CharacterCount(row[i]), ' ');
      absl::StrAppend(&line, std::string(i > 0 ? kGap : 0, ' '), right[i] ? padding : "", row[i],
                      right[i] ? "" : padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, Cut(line, width), "\n");
  }
  return out;
}

std::string RenderDetails(const Details& details, size_t width) {
  size_t widest = 0;
  for (const auto& [key, value] : details) widest = std::max(widest, key.size());
  std::string out;
  for (const auto& [key, value] : details) {
    const std::string line =
        absl::StrCat(key, ":", std::string(widest - key.size() + kGap, ' '), Printable(value.empty() ? "-" : value));
    absl::StrAppend(&out, Cut(line, width), "\n");
  }
  return out;
}

std::string Printable(std::string_view text, bool lines) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    if (c == '\n' && lines) continue;
    if (c < 0x20 || c == 0x7f) {
      out[i] = '?';
    } else if (c == 0xc2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xa0) {
      out.replace(i, 2, "?");  // U+0080 to U+009F are control characters, too
    }
  }
  return out;
}

std::string CutLines(std::string_view text, size_t width) {
  if (width == 0) return std::string(text);
  const std::vector<std::string> lines = absl::StrSplit(AbslView(text), '\n');
  const auto cut = [width](std::string* out, const std::string& line) { out->append(Cut(line, width)); };
  return absl::StrJoin(lines, "\n", cut);
}

std::string FormatRanges(const std::vector<uint32_t>& numbers) {
  std::string out;
  for (size_t first = 0; first < numbers.size();) {
    size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    absl::StrAppend(&out, out.empty() ? "" : ",", numbers[first]);
    if (last > first) absl::StrAppend(&out, "-", numbers[last]);
    first = last + 1;
  }
  return out.empty() ? "-" : out;
}

std::string FormatSeconds(double seconds) {
  if (!(seconds > 0)) return "0 s";
  if (seconds < 0.9995) return absl::StrFormat("%.3g ms", seconds * 1e3);
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  // The limit, about a million years, keeps the conversion to an integer defined.
  const auto whole = static_cast<int64_t>(std::min(seconds, 3e13) + 0.5);
  if (whole < 3600) return absl::StrFormat("%d min %d s", whole / 60, whole % 60);
  if (whole < 86400) return absl::StrFormat("%d h %d min", whole / 3600, whole % 3600 / 60);
  return absl::StrFormat("%d d %d h", whole / 86400, whole % 86400 / 3600);
}

std::string FormatNanoseconds(double nanoseconds, int digits) {
  return Scaled(nanoseconds, digits, {"ns", "us", "ms", "s"});
}

std::string FormatBitsPerSecond(double bits_per_second) {
  return Scaled(bits_per_second / 1e3, 4, {"kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"});
}

}  // namespace copse::cli
