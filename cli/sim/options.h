// SPDX-License-Identifier: Apache-2.0
//
// Options that several verbs read in the same way.
#ifndef COPSE_CLI_SIM_OPTIONS_H_
#define COPSE_CLI_SIM_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/sim/verb.h"
#include "collectives/call_arguments.h"

namespace copse::simcli {

// Reads a number in [least, limit]; `fallback` if the option was not given. INVALID_ARGUMENT names option, value and
// limits.
absl::StatusOr<uint64_t> NumberOption(const Arguments& arguments, const std::string& name, uint64_t fallback,
                                      uint64_t least, uint64_t limit);
// Reads "1024", "1KiB". Below 2^33.
absl::StatusOr<uint64_t> BytesOption(const Arguments& arguments, const std::string& name, uint64_t fallback);
absl::StatusOr<std::vector<uint64_t>> BytesListOption(const Arguments& arguments, const std::string& name,
                                                      const std::string& fallback);
// Reads "4,8,16" and ranges "1-40", in the order given; at most kListMax. INVALID_ARGUMENT from NumberOption.
inline constexpr size_t kListMax = 10'000;
absl::StatusOr<std::vector<uint64_t>> NumberListOption(const Arguments& arguments, const std::string& name,
                                                       const std::string& fallback, uint64_t least, uint64_t limit);
// Reads nanoseconds, from "2us".
absl::StatusOr<int64_t> DurationOption(const Arguments& arguments, const std::string& name, int64_t fallback_ns);

// Reads a collective of the daemons; `others` are further names that the verb knows, for the error's text.
absl::StatusOr<Collective> CollectiveOption(const Arguments& arguments, const std::string& fallback,
                                            const std::string& others = "");

// Returns whether -w json was given; the program sets the option, which no verb has.
inline constexpr char kFormat[] = "write-out";
bool WantsJson(const Arguments& arguments);

// Reads a whole file. INVALID_ARGUMENT if it cannot be read, or has more than `bytes_max` bytes.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t bytes_max);
// Writes `text` to the file, or returns the system's error.
absl::Status WriteTextFile(const std::string& path, const std::string& text);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_OPTIONS_H_
