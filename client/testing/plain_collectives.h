// SPDX-License-Identifier: Apache-2.0
//
// What collectives do, by plain loops: for the fake daemon.
#ifndef COPSE_CLIENT_TESTING_PLAIN_COLLECTIVES_H_
#define COPSE_CLIENT_TESTING_PLAIN_COLLECTIVES_H_

#include <cstdint>
#include <vector>

#include "client/copse.h"

namespace copse::client {

struct PlainCall {
  copse_collective_t collective = COPSE_COLL_BARRIER;
  copse_datatype_t type = COPSE_DT_INT8;
  copse_op_t op = COPSE_OP_SUM;
  uint32_t root = 0;
};
using PlainBlock = std::vector<uint8_t>;
// By rank: what it sends, no block, one, or one for each rank.
using PlainParts = std::vector<std::vector<PlainBlock>>;

// What rank `rank` receives, likewise. Operands are combined in order of ranks. Empty if those of a reduction differ in
// length.
std::vector<PlainBlock> PlainResult(const PlainCall& call, const PlainParts& parts, uint32_t rank);

}  // namespace copse::client

#endif  // COPSE_CLIENT_TESTING_PLAIN_COLLECTIVES_H_
