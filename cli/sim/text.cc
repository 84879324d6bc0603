// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/text.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"

namespace copse::simcli {
namespace {

constexpr size_t kGap = 2;

}  // namespace

std::string RenderTable(const std::vector<std::vector<std::string>>& rows, size_t left_columns) {
  if (rows.empty()) return "";
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const std::vector<std::string>& row : rows) {
    CHECK_EQ(row.size(), widths.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) line += std::string(kGap, ' ');
      line += i < left_columns ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

std::string RenderDetails(const std::vector<std::pair<std::string, std::string>>& details) {
  size_t widest = 0;
  for (const auto& [key, value] : details) widest = std::max(widest, key.size());
  std::string out;
  for (const auto& [key, value] : details) {
    absl::StrAppend(&out, key, ":", std::string(widest - key.size() + kGap, ' '), value, "\n");
  }
  return out;
}

std::string FormatNs(double ns) {
  constexpr std::array<const char*, 4> kUnits = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::abs(ns) >= 1000) {
    ns /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.5g %s", ns, kUnits[unit]);
}

std::string FormatDifference(double value, double reference) {
  if (!(reference > 0)) return "-";
  return absl::StrFormat("%+.1f %%", (value / reference - 1) * 100);
}

int64_t PeakMemoryBytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace copse::simcli
