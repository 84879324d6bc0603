// SPDX-License-Identifier: Apache-2.0
//
// Checks a collective's arguments and says what a rank does with its buffers.
#ifndef COPSE_CLIENT_ARGUMENTS_H_
#define COPSE_CLIENT_ARGUMENTS_H_

#include <cstdint>

#include "client/copse.h"

namespace copse::client {

// A call as this rank makes it; pointers are null where the rank has nothing to give or to get.
struct CallPlan {
  copse_collective_t collective = COPSE_COLL_BARRIER;
  copse_datatype_t type = COPSE_DT_INT8;
  copse_op_t op = COPSE_OP_SUM;
  uint32_t root = 0;
  uint64_t count = 0;
  uint64_t bytes = 0;          // of the message
  const void* send = nullptr;  // equals `receive` for a contribution in place
  void* receive = nullptr;
};

const char* CollectiveName(copse_collective_t collective);

// What rank `rank` of `size` does for `args`.
// Errors: INVALID_ARGUMENT (unknown values, root, null or overlapping buffers, an operation that is not defined on the
// type); NOT_SUPPORTED if the message is longer than `message_bytes_max`.
copse_status_t PlanCall(const copse_coll_args_t& args, uint32_t rank, uint32_t size, uint64_t message_bytes_max,
                        CallPlan* plan);

// 0 for an unknown type.
uint32_t DatatypeBytes(copse_datatype_t type);

}  // namespace copse::client

#endif  // COPSE_CLIENT_ARGUMENTS_H_
