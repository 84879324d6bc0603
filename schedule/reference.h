// SPDX-License-Identifier: Apache-2.0
//
// Computes the expected results of collectives by simple loops. Simulated and scripted ranks compare Copse's results
// with them.
#ifndef COPSE_SCHEDULE_REFERENCE_H_
#define COPSE_SCHEDULE_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "collectives/call_arguments.h"

namespace copse::schedule {

// Returns rank `rank`'s contribution to a call; empty for a barrier. Values are chosen so that floating-point results
// are exact in any order of operands: small integers, and small factors for products.
std::vector<uint8_t> Contribution(const CallArguments& arguments, uint32_t rank, uint64_t seed);

// Returns elements [begin, begin + count) of the rank's contribution, which may lie beyond arguments.count. In a
// contribution of several blocks, these lie back to back, by rank.
std::vector<uint8_t> ContributionRange(const CallArguments& arguments, uint32_t rank, uint64_t seed, uint64_t begin,
                                       uint64_t count);
// Returns elements [begin, begin + count) of the contributions of ranks [0, ranks), reduced in rank order; ranks > 0.
std::vector<uint8_t> CombinedRange(const CallArguments& arguments, uint32_t ranks, uint64_t seed, uint64_t begin,
                                   uint64_t count);

// Returns the expected receive buffer of a rank (for bcast: its buffer) after a bcast, reduce or allreduce; empty if
// the rank gets no result, and for other collectives, which rank_data.h covers.
std::vector<uint8_t> ExpectedResult(const CallArguments& arguments, uint32_t rank, uint32_t size, uint64_t seed);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_REFERENCE_H_
