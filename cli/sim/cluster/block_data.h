// SPDX-License-Identifier: Apache-2.0
//
// Computes the ranks' contributions to a simulated call of a collective of blocks, and checks the results. Each element
// is computed by a closed formula, even a sum over tens of thousands of ranks.
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

// Returns the lengths of the blocks of an irregular call, in bytes that are multiples of `unit`. `name` is one of these
// distributions, whose mean is about `bytes`:
// - "equal": all equal;
// - "heavy": the middle rank has half of all bytes, the others share the rest;
// - "random": from 0 to twice the mean, drawn from the seed;
// - "sparse": ranks 0, 16, 32, ... have sixteen times the mean, the others nothing.
// An alltoallv's matrix has such a row for each rank, rotated by the rank. Empty for regular collectives.
// Errors: INVALID_ARGUMENT for another name.
absl::StatusOr<schedule::BlockCounts> MakeBlockCounts(const std::string& name, Collective collective, uint32_t ranks,
                                                      uint64_t bytes, uint64_t unit, uint64_t seed);

// Returns the arguments of an irregular call with the sum and the hash of the counts, in so far as all ranks know
// these; otherwise they are 0. Other calls are returned unchanged.
CallArguments WithCounts(const CallArguments& arguments, const schedule::BlockCounts& counts);

// Returns the content of the send buffer of `rank`. A reduction must be a sum of unsigned integers.
std::vector<uint8_t> BlockContribution(const schedule::BlockProgram& program, uint32_t rank, uint64_t seed);
// Checks the content of the receive buffer of `rank`. Errors: INTERNAL, with the first element that differs.
absl::Status CheckBlocks(const schedule::BlockProgram& program, uint32_t rank, uint64_t seed,
                         absl::Span<const uint8_t> received);

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_BLOCK_DATA_H_
