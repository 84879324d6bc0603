// SPDX-License-Identifier: Apache-2.0
//
// One rank's data in a call of any collective, by the plainest means: what it gives, where it wants things, and what it
// must have afterwards. For those who check results; planner and engine share none of it.
#ifndef COPSE_SCHEDULE_RANK_DATA_H_
#define COPSE_SCHEDULE_RANK_DATA_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/call_arguments.h"

namespace copse::schedule {

// A call as all its ranks together know it.
struct WholeCall {
  CallArguments arguments;
  // Elements. Irregular collectives: of each rank's block; alltoallv: of what s sends to r, at s * size + r. Regular
  // ones: empty.
  std::vector<uint64_t> counts;
  // Where a rank's contribution may lie in its receive buffer, or its result in its send buffer, it does. Not so in
  // alltoall(v) and reduce_scatter(v).
  bool in_place = false;
  // Irregular collectives: blocks lie in any order and with gaps between them, otherwise at each rank.
  bool displaced = false;
  uint64_t seed = 0;  // of values and displacements
};

// The call's arguments, with what `counts` says in them: counts_hash, and the count of all blocks together.
CallArguments ArgumentsOf(const WholeCall& call);

// Elements of what `from` gives to `to`, of `size` ranks.
uint64_t BlockCount(const WholeCall& call, uint32_t from, uint32_t to, uint32_t size);

struct RankData {
  // Buffers as they are before the call; empty where the rank has none, or nothing in it.
  std::vector<uint8_t> send;
  std::vector<uint8_t> receive;
  // What `receive` must be afterwards; `send` stays as it is.
  std::vector<uint8_t> expected;
  // In place: bytes from the begin of `receive` where the contribution lies, or of `send` where the result does.
  std::optional<uint64_t> contribution_at;
  std::optional<uint64_t> result_at;
  uint64_t contribution_bytes = 0;
  uint64_t result_bytes = 0;
  // The lists that this rank has to give (buffers.h), by rank.
  std::optional<BlockList> send_blocks;
  std::optional<BlockList> receive_blocks;
};

// Of rank `rank` of `size`. Cost: O(bytes), for reductions O(size) as well.
RankData MakeRankData(const WholeCall& call, uint32_t rank, uint32_t size);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_RANK_DATA_H_
