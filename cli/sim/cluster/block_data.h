// SPDX-License-Identifier: Apache-2.0
//
// The ranks' contributions in a simulated call of a collective of blocks, and their expected results. Every element has
// a closed formula, even a sum over tens of thousands of ranks.
#ifndef COPSE_CLI_SIM_CLUSTER_BLOCK_DATA_H_
#define COPSE_CLI_SIM_CLUSTER_BLOCK_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "schedule/block_program.h"

namespace copse::sim {

// Returns the counts of an irregular call with blocks of `bytes` in the mean, in elements of `unit` bytes, by name:
// - "equal": all equal;
// - "heavy": one rank, in the middle, has half of all, the others share the rest;
// - "random": 0 to twice the mean, from the seed;
// - "sparse": one in sixteen has sixteen times the mean, the others nothing.
// An alltoallv's matrix has such a row for each rank, shifted by rank. Empty for regular collectives.
// Errors: INVALID_ARGUMENT for another name.
absl::StatusOr<schedule::BlockCounts> MakeBlockCounts(const std::string& name, Collective collective, uint32_t ranks,
                                                      uint64_t bytes, uint64_t unit, uint64_t seed);

// Returns the arguments completed by the counts: their sum and their hash, where ranks know it.
CallArguments WithCounts(const CallArguments& arguments, const schedule::BlockCounts& counts);

// Returns the send buffer of `rank`. Reductions are sums of unsigned integers.
std::vector<uint8_t> BlockContribution(const schedule::BlockProgram& program, uint32_t rank, uint64_t seed);
// Returns INTERNAL with the first element that differs if the receive buffer is wrong.
absl::Status CheckBlocks(const schedule::BlockProgram& program, uint32_t rank, uint64_t seed,
                         absl::Span<const uint8_t> received);

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_BLOCK_DATA_H_
