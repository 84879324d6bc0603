// SPDX-License-Identifier: Apache-2.0
//
// Formats values for display, and reads the peak memory of the process.
#ifndef COPSE_CLI_SIM_TEXT_H_
#define COPSE_CLI_SIM_TEXT_H_

#include <cstdint>
#include <string>

#include "cli/command_line/table.h"

namespace copse::simcli {

// Formats a time as "12.345 us", with five digits in the largest of ns, us, ms and s in which it is at least 1.
inline std::string FormatNs(double ns) { return cli::FormatNanoseconds(ns, 5); }

// Formats the difference of `value` from `reference` as "+1.2 %"; "-" if `reference` is not positive.
std::string FormatDifference(double value, double reference);

// Returns the peak memory of this process, in bytes; 0 if the kernel does not report it.
int64_t PeakMemoryBytes();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_TEXT_H_
