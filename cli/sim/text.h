// SPDX-License-Identifier: Apache-2.0
//
// Text for display: aligned tables.
#ifndef COPSE_CLI_SIM_TEXT_H_
#define COPSE_CLI_SIM_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace copse::simcli {

// Renders aligned columns: the first `left_columns` to the left, others to the right. All rows have as many cells as
// the first, which is the titles. ASCII.
std::string RenderTable(const std::vector<std::vector<std::string>>& rows, size_t left_columns = 1);

// Renders "key:   value" lines with aligned values.
std::string RenderDetails(const std::vector<std::pair<std::string, std::string>>& details);

// Formats "12.345 us": in the largest unit of ns, us, ms, s in which it is at least 1, to five digits.
std::string FormatNs(double ns);

// Formats the difference of `value` from `reference` as "+1.2 %"; "-" if `reference` is not positive.
std::string FormatDifference(double value, double reference);

// Returns the peak memory of this process, in bytes; 0 if the kernel does not report it.
int64_t PeakMemoryBytes();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_TEXT_H_
