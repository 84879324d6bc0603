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

// Values of copse_op_t from here on are operations of the application (user_op.h).
inline constexpr int kFirstUserOp = 1 << 16;

// A BufferPlan describes the send or the receive buffer of a rank in a call.
struct BufferPlan {
  BufferKind kind = BufferKind::kNone;
  // The address is null if the buffer is empty. A send buffer is never written to.
  uint8_t* address = nullptr;
  uint64_t bytes = 0;  // sum over all blocks
  uint64_t span = 0;   // bytes from the address to the end of the last block
  // It lists all ranks' blocks in an irregular collective. A rank without such a buffer has it, too, if
  // COPSE_COLL_FLAG_COUNTS_KNOWN is set. Null: one block, or equal ones.
  std::shared_ptr<const Blocks> blocks;
};

// A CallPlan is a checked call of one rank.
struct CallPlan {
  copse_collective_t collective = COPSE_COLL_BARRIER;
  copse_datatype_t type = COPSE_DT_INT8;
  copse_op_t op = COPSE_OP_SUM;
  uint32_t root = 0;
  uint64_t count = 0;          // as in ring::DqEntry
  uint64_t flags = 0;          // copse_coll_flag, without those that have no meaning for this call
  uint8_t under_way_max = 0;   // as in ring::DqEntry
  bool pairs_bounded = false;  // ring::kPairsBounded, with `count`
  BufferPlan send;
  BufferPlan receive;
  // Says which buffer corresponds to this rank's block of the other one. The offsets are those of that block, in bytes:
  // where it lies, and where it would lie if the blocks were packed.
  Nesting nesting = Nesting::kNone;
  uint64_t own_offset = 0;
  uint64_t own_packed_offset = 0;
  // With nesting, the inner buffer lies in the outer one. Without it, the contribution lies in the receive buffer and
  // has to be copied first.
  bool in_place = false;
  // Reduces the contributions that this call receives; null: the call receives the result.
  std::shared_ptr<Fold> fold;
};

// Returns "unknown" for an unknown value.
const char* CollectiveName(copse_collective_t collective);

// Plans the part of rank `rank` of `size` in the call of `args`. *plan is set only on success.
// Errors: INVALID_ARGUMENT (unknown values, root, null or overlapping buffers or blocks, the own count differs from the
// list, an operation that is not defined on the type); NOT_SUPPORTED if a buffer is longer than `message_bytes_max`.
copse_status_t PlanCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                        CallPlan* plan);

// Returns the size of an element; 0 for an unknown type.
uint32_t DatatypeBytes(copse_datatype_t type);

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_ARGUMENTS_H_
