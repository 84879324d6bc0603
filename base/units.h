// SPDX-License-Identifier: Apache-2.0
//
// Parses and formats amounts as they are written in configuration files and on command lines.
//
// A number is decimal, "12" or "1.5", of at most 19 digits; blanks may stand between number and unit. Signs, exponents,
// "nan" and "inf" are refused. Zero is accepted; callers check whether it makes sense. All errors are INVALID_ARGUMENT
// and quote the text.

#ifndef COPSE_BASE_UNITS_H_
#define COPSE_BASE_UNITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace copse {

// Parses a duration such as "2us". The unit is ns, us, ms or s. The result must be below 2^63 ns (292 years).
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text);

// Parses "10Gbit", "200Mbit/s" or "1.2GB/s", and returns bytes per second. The unit is bit or B, optionally with k, M,
// G or T (powers of 1000) before it and "/s" after it.
absl::StatusOr<double> ParseBandwidth(std::string_view text);

// Parses "64MiB", "1G" or "4096". The units kB, MB, GB and TB are powers of 1000; KiB, MiB, GiB, TiB and plain K, M, G,
// T are powers of 1024. The result must be a whole number of bytes and below 2^63.
absl::StatusOr<int64_t> ParseBytes(std::string_view text);

// Returns a short text for messages, to four digits: "1.5KiB", "64MiB", "12B".
std::string FormatBytes(int64_t bytes);

// Returns a text such as "2us", "1.5ms" or "86400s", always in one of ParseDuration's units; "inf" or "-inf" for
// infinite durations. (It is not named FormatDuration, since argument-dependent lookup would find absl's, too.)
std::string FormatShortDuration(absl::Duration duration);

}  // namespace copse

#endif  // COPSE_BASE_UNITS_H_
