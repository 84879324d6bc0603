// SPDX-License-Identifier: Apache-2.0
//
// What collectives must compute, by the plainest loops: the clients' own computation, which checks Copse's.
#ifndef COPSE_INTEGRATION_TESTS_SCENARIOS_REFERENCE_H_
#define COPSE_INTEGRATION_TESTS_SCENARIOS_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "planner/schedule/collective.h"

namespace copse::scenario {

// Rank `rank`'s contribution to a call. Values are chosen so that floating point is exact whatever the order: small
// integers, for products powers of two.
std::vector<uint8_t> Contribution(const schedule::CallArguments& arguments, uint32_t rank, uint64_t seed);

// What a rank must have in its receive buffer (for bcast: its buffer) after the call; empty if it gets nothing.
std::vector<uint8_t> ExpectedResult(const schedule::CallArguments& arguments, uint32_t rank, uint32_t size,
                                    uint64_t seed);

}  // namespace copse::scenario

#endif  // COPSE_INTEGRATION_TESTS_SCENARIOS_REFERENCE_H_
