// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/node_call.h"

#include "cli/sim/cluster/block_call.h"
#include "cli/sim/cluster/whole_call.h"

namespace copse::sim {

std::unique_ptr<NodeCall> MakeNodeCall(const SimCall* call, uint32_t node, NodePort* port, NodeClock* clock) {
  if (call->blocks != nullptr) return std::make_unique<BlockCall>(call, node, port, clock);
  return std::make_unique<WholeCall>(call, node, port, clock);
}

}  // namespace copse::sim
