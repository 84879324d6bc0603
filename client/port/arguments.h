// SPDX-License-Identifier: Apache-2.0
//
// Checks a collective's arguments and plans what a rank does with its buffers.
#ifndef COPSE_CLIENT_PORT_ARGUMENTS_H_
#define COPSE_CLIENT_PORT_ARGUMENTS_H_

#include <cstdint>
#include <memory>

#include "client/copse.h"
#include "client/port/blocks.h"
#include "collectives/collective.h"

namespace copse::client {

class Fold;

// Operations from here on are the application's own (user_op.h).
inline constexpr int kFirstUserOp = 1 << 16;

// One of a rank's two buffers in a call.
struct BufferPlan {
  BufferKind kind = BufferKind::kNone;
  // Null if the buffer is empty. A send buffer is never written to.
  uint8_t* address = nullptr;
  uint64_t bytes = 0;  // of all blocks
  uint64_t span = 0;   // from the address to the end of the last
  // The sizes that the rank gives for all blocks of an irregular collective, perhaps without having such a buffer.
  // Null: equal blocks, or one.
  std::shared_ptr<const Blocks> blocks;
};

// A call as this rank makes it.
struct CallPlan {
  copse_collective_t collective = COPSE_COLL_BARRIER;
  copse_datatype_t type = COPSE_DT_INT8;
  copse_op_t op = COPSE_OP_SUM;
  uint32_t root = 0;
  uint64_t count = 0;          // as ring::DqEntry has it
  uint64_t flags = 0;          // copse_coll_flag, without those that mean nothing here
  uint8_t under_way_max = 0;   // as ring::DqEntry has it
  bool pairs_bounded = false;  // ring::kPairsBounded, with `count`
  BufferPlan send;
  BufferPlan receive;
  // One of the buffers is also this rank's own block of the other one. The own offsets are the block's, as the blocks
  // lie, and as they would if they were packed.
  Nesting nesting = Nesting::kNone;
  uint64_t own_offset = 0;
  uint64_t own_packed_offset = 0;
  // With nesting, one buffer lies in the other. Without, the contribution lies in the receive buffer and has to be
  // copied first.
  bool in_place = false;
  // Combines what this call brings into the result; null: it is the result.
  std::shared_ptr<Fold> fold;
};

const char* CollectiveName(copse_collective_t collective);

// Plans what rank `rank` of `size` does for `args`.
// Errors: INVALID_ARGUMENT (unknown values, root, null or overlapping buffers or blocks, counts that differ, an
// operation that is not defined on the type); NOT_SUPPORTED if a buffer is longer than `message_bytes_max`.
copse_status_t PlanCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                        CallPlan* plan);

// Returns 0 for an unknown type.
uint32_t DatatypeBytes(copse_datatype_t type);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_ARGUMENTS_H_
