// SPDX-License-Identifier: Apache-2.0
//
// One rank's data in a call of any collective, by the plainest means: its contribution, its layout, and its expected
// result. Tests check results against it; planner and engine share none of it.
#ifndef COPSE_SCHEDULE_TESTING_RANK_DATA_H_
#define COPSE_SCHEDULE_TESTING_RANK_DATA_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/call_arguments.h"

namespace copse::schedule {

// A call with the arguments of all its ranks.
struct WholeCall {
  CallArguments arguments;
  // Elements. Irregular collectives: each rank's block; alltoallv: the block from s to r is at s * size + r. Regular
  // ones: empty.
  std::vector<uint64_t> counts;
  // A rank's contribution lies in its receive buffer, or its result in its send buffer, if the collective nests
  // one in the other (Nesting).
  bool in_place = false;
  // Irregular collectives: blocks lie in any order with gaps between them; otherwise in rank order, back to back.
  bool displaced = false;
  uint64_t seed = 0;  // seed of values and displacements
};

// Returns the call's arguments, completed from `counts`: counts_hash, and the total count of all blocks.
CallArguments ArgumentsOf(const WholeCall& call);

// Returns the elements that `from` gives to `to`, of `size` ranks.
uint64_t BlockCount(const WholeCall& call, uint32_t from, uint32_t to, uint32_t size);

struct RankData {
  // Buffers before the call; empty where the rank has none, or nothing in it.
  std::vector<uint8_t> send;
  std::vector<uint8_t> receive;
  // The expected content of `receive` after the call; `send` is unchanged.
  std::vector<uint8_t> expected;
  // In place: byte offset in `receive` of the contribution, or in `send` of the result.
  std::optional<uint64_t> contribution_at;
  std::optional<uint64_t> result_at;
  uint64_t contribution_bytes = 0;
  uint64_t result_bytes = 0;
  // The lists that this rank has to pass (buffers.h), by rank.
  std::optional<BlockList> send_blocks;
  std::optional<BlockList> receive_blocks;
};

// Makes the data of rank `rank` of `size`. Cost: O(bytes), for reductions O(size) as well.
RankData MakeRankData(const WholeCall& call, uint32_t rank, uint32_t size);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_TESTING_RANK_DATA_H_
