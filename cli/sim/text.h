// SPDX-License-Identifier: Apache-2.0
//
// Figures for display.
#ifndef COPSE_CLI_SIM_TEXT_H_
#define COPSE_CLI_SIM_TEXT_H_

#include <cstdint>
#include <string>

#include "cli/command_line/table.h"

namespace copse::simcli {

// Formats "12.345 us": in the largest unit of ns, us, ms, s in which it is at least 1, to five digits.
inline std::string FormatNs(double ns) { return cli::FormatNanoseconds(ns, 5); }

// Formats the difference of `value` from `reference` as "+1.2 %"; "-" if `reference` is not positive.
std::string FormatDifference(double value, double reference);

// Returns the peak memory of this process, in bytes; 0 if the kernel does not report it.
int64_t PeakMemoryBytes();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_TEXT_H_
