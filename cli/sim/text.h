// SPDX-License-Identifier: Apache-2.0
//
// Text for people: aligned tables.
#ifndef COPSE_CLI_SIM_TEXT_H_
#define COPSE_CLI_SIM_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace copse::simcli {

// Columns are aligned: the first `left_columns` to the left, others to the right. All rows have as many cells as the
// first, which is the titles. ASCII.
std::string RenderTable(const std::vector<std::vector<std::string>>& rows, size_t left_columns = 1);

// "key:   value" lines, values aligned.
std::string RenderDetails(const std::vector<std::pair<std::string, std::string>>& details);

// "12.345 us": in the largest unit of ns, us, ms, s in which it is at least 1, to five digits.
std::string FormatNs(double ns);

// "+1.2 %" of `value` beside `reference`; "-" if that is not positive.
std::string FormatDifference(double value, double reference);

// Most memory that this process has had, in bytes; 0 if the kernel does not tell.
int64_t PeakMemoryBytes();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_TEXT_H_
