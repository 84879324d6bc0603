// SPDX-License-Identifier: Apache-2.0
//
// Expands and compresses host lists as Slurm writes them: "n[1-4,07-09],rack[0-1]n[0-3],login".
//
//   list  = name { "," name }
//   name  = one or more of: letters, digits, "-", "_", "."; or "[" range { "," range } "]"
//   range = number | number "-" number
//
// A first number with leading zeros pads its range to its width ("08-10": 08, 09, 10). Of several brackets, the last
// varies fastest. Order and duplicates are kept. Blanks around commas outside of brackets are ignored.

#ifndef COPSE_BASE_HOSTLIST_H_
#define COPSE_BASE_HOSTLIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace copse {

inline constexpr uint64_t kHostlistHostsMax = 1000000;
inline constexpr uint64_t kHostnameBytesMax = 255;

// Returns the hosts that `text` names; none if it is blank.
//
// Errors:  INVALID_ARGUMENT, which names the text and the position (from 1) of the mistake, also for host names longer
//          than kHostnameBytesMax. RESOURCE_EXHAUSTED for more than `hosts_max` hosts. No more than that are ever made.
// Cost:    O(length of the result).
absl::StatusOr<std::vector<std::string>> ExpandHostlist(std::string_view text, uint64_t hosts_max = kHostlistHostsMax);

// Returns a short list that expands to `hosts`, in their order. Adjacent hosts that differ only in their trailing
// number share a bracket.
std::string CompressHostlist(const std::vector<std::string>& hosts);

}  // namespace copse

#endif  // COPSE_BASE_HOSTLIST_H_
