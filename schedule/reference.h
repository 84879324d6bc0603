// SPDX-License-Identifier: Apache-2.0
//
// What collectives must compute, by the plainest loops: what simulated and scripted ranks
// compute themselves, to check Copse's.
#ifndef COPSE_SCHEDULE_REFERENCE_H_
#define COPSE_SCHEDULE_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "collectives/call_arguments.h"

namespace copse::schedule {

// Rank `rank`'s contribution to a call. Values are chosen so that floating point is exact whatever the order: small
// integers, for products powers of two.
std::vector<uint8_t> Contribution(const CallArguments& arguments, uint32_t rank, uint64_t seed);

// Elements [begin, begin + count) of what the rank gives, whatever arguments.count says; where it gives blocks, they
// lie one after another, by rank.
std::vector<uint8_t> ContributionRange(const CallArguments& arguments, uint32_t rank, uint64_t seed, uint64_t begin,
                                       uint64_t count);
// The same elements of ranks [0, ranks), combined in their order; ranks > 0.
std::vector<uint8_t> CombinedRange(const CallArguments& arguments, uint32_t ranks, uint64_t seed, uint64_t begin,
                                   uint64_t count);

// Of the common collectives; rank_data.h has all. What a rank must have in its receive buffer (for bcast: its buffer)
// after the call; empty if it gets nothing.
std::vector<uint8_t> ExpectedResult(const CallArguments& arguments, uint32_t rank, uint32_t size, uint64_t seed);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_REFERENCE_H_
