// SPDX-License-Identifier: Apache-2.0
//
// Amounts as written in configuration files and on command lines.
//
// A number is decimal, "12" or "1.5"; blanks may stand between number and unit. Signs, exponents,
// "nan" and "inf" are refused. Zero is accepted: whether it makes sense is the caller's to judge.
// All errors are INVALID_ARGUMENT and quote the text.

#ifndef COPSE_BASE_UNITS_H_
#define COPSE_BASE_UNITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace copse {

// Parses "2us": units ns, us, ms, s. At most 2^63 ns (292 years).
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text);

// Parses "10Gbit", "200Mbit/s", "1.2GB/s" as bytes per second. The unit is bit or B, with k, M, G or T (powers of
// 1000) before it and optionally "/s" behind it.
absl::StatusOr<double> ParseBandwidth(std::string_view text);

// Parses "64MiB", "1G", "4096": kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB and plain K, M, G, T powers of
// 1024. The result must be a whole number of bytes and below 2^63.
absl::StatusOr<int64_t> ParseBytes(std::string_view text);

// Returns a short text for messages, to four digits: "1.5KiB", "64MiB", "12B".
std::string FormatBytes(int64_t bytes);

// Returns "2us", "1.5ms", "86400s", always in one of ParseDuration's units; "inf" and "-inf" for infinite durations.
// (Not named FormatDuration: absl's would be found too, by its argument.)
std::string FormatShortDuration(absl::Duration duration);

}  // namespace copse

#endif  // COPSE_BASE_UNITS_H_
