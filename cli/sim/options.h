// SPDX-License-Identifier: Apache-2.0
//
// Reads options that several verbs have. All errors are INVALID_ARGUMENT unless stated otherwise.
#ifndef COPSE_CLI_SIM_OPTIONS_H_
#define COPSE_CLI_SIM_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/sim/verb.h"
#include "collectives/call_arguments.h"

namespace copse::simcli {

// Reads a number in [least, limit]. Returns `fallback`, unchecked, if the option was not given.
absl::StatusOr<uint64_t> NumberOption(const Arguments& arguments, const std::string& name, uint64_t fallback,
                                      uint64_t least, uint64_t limit);
// Reads a number of bytes, at most 2^33, such as "1024" or "1KiB"; `fallback` if the option was not given. The second
// function reads a list separated by commas.
absl::StatusOr<uint64_t> BytesOption(const Arguments& arguments, const std::string& name, uint64_t fallback);
absl::StatusOr<std::vector<uint64_t>> BytesListOption(const Arguments& arguments, const std::string& name,
                                                      const std::string& fallback);
inline constexpr size_t kListMax = 10'000;
// Reads a list such as "4,8,16", which may contain ranges such as "1-40", and returns its numbers in the order given:
// at most kListMax, each in [least, limit]. `fallback` is read if the option was not given.
absl::StatusOr<std::vector<uint64_t>> NumberListOption(const Arguments& arguments, const std::string& name,
                                                       const std::string& fallback, uint64_t least, uint64_t limit);
// Reads a duration such as "2us" and returns nanoseconds; `fallback_ns` if the option was not given.
absl::StatusOr<int64_t> DurationOption(const Arguments& arguments, const std::string& name, int64_t fallback_ns);

// Reads the name of a collective; `fallback` is read if the option was not given. The error for an unknown name lists
// barrier, bcast, reduce, allreduce and `others`.
absl::StatusOr<Collective> CollectiveOption(const Arguments& arguments, const std::string& fallback,
                                            const std::string& others = "");

// The program passes its option -w to a verb under this name.
inline constexpr char kFormat[] = "write-out";
// Returns whether -w json was given.
bool WantsJson(const Arguments& arguments);

// Reads a whole file. Errors: INVALID_ARGUMENT if it cannot be read, or has more than `bytes_max` bytes.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t bytes_max);
// Replaces the file's content by `text`. Errors: UNAVAILABLE with the system's reason.
absl::Status WriteTextFile(const std::string& path, const std::string& text);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_OPTIONS_H_
