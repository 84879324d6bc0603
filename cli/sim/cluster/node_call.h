// SPDX-License-Identifier: Apache-2.0
//
// What a simulated node does in one call: its ranks' buffers, and what it posts to its port and when.
#ifndef COPSE_CLI_SIM_CLUSTER_NODE_CALL_H_
#define COPSE_CLI_SIM_CLUSTER_NODE_CALL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace copse::sim {

// A NodeCall does the work of the daemon's CallWindow and LongCall. Unlike daemons, the nodes share plan and index, and
// know all counts from the start. Thread-compatible.
class NodeCall {
 public:
  virtual ~NodeCall() = default;

  // Prepares what needs no rank. Errors: those of Expand.
  virtual absl::Status Prepare() = 0;
  // Returns how many parts of the call run at a time, each in a slot of the port.
  virtual uint32_t window() const = 0;
  // Takes rank `local`'s arguments.
  virtual absl::Status AddRank(uint32_t local) = 0;
  // Posts what has become possible since the engine has run. Returns whether there was anything.
  virtual absl::StatusOr<bool> Advance() = 0;
  // Takes an event of the engine. Appends to `*done` the local index of a rank whose result is complete.
  virtual void TakeEvent(uint64_t value, std::vector<uint32_t>* done) = 0;
  // Returns whether all ranks and the node's own work have ended.
  virtual bool ended() const = 0;
  // Checks the results of this node's ranks. `expected` is the call's result; a collective of blocks ignores it, since
  // each rank has its own. Errors: INTERNAL with the first byte that differs, or if memory behind a result was written.
  virtual absl::Status CheckData(absl::Span<const uint8_t> expected) const = 0;
  // Returns the most bytes of copy lists that existed at a time.
  virtual uint64_t list_bytes_max() const = 0;
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_NODE_CALL_H_
