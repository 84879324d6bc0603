// SPDX-License-Identifier: Apache-2.0
//
// The expected results of collectives, by the plainest loops: simulated and scripted ranks compare Copse's with them.
#ifndef COPSE_SCHEDULE_REFERENCE_H_
#define COPSE_SCHEDULE_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "collectives/call_arguments.h"

namespace copse::schedule {

// Returns rank `rank`'s contribution to a call. Values are chosen so that floating point is exact whatever the order:
// small integers, for products powers of two.
std::vector<uint8_t> Contribution(const CallArguments& arguments, uint32_t rank, uint64_t seed);

// Returns elements [begin, begin + count) of the rank's contribution, whatever arguments.count says; blocks lie back
// to back, by rank.
std::vector<uint8_t> ContributionRange(const CallArguments& arguments, uint32_t rank, uint64_t seed, uint64_t begin,
                                       uint64_t count);
// Returns the same elements of ranks [0, ranks), combined in their order; ranks > 0.
std::vector<uint8_t> CombinedRange(const CallArguments& arguments, uint32_t ranks, uint64_t seed, uint64_t begin,
                                   uint64_t count);

// Returns the expected receive buffer of a rank (for bcast: its buffer) after a common collective; empty if it gets
// nothing. rank_data.h covers all collectives.
std::vector<uint8_t> ExpectedResult(const CallArguments& arguments, uint32_t rank, uint32_t size, uint64_t seed);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_REFERENCE_H_
