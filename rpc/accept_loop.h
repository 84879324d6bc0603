// SPDX-License-Identifier: Apache-2.0
//
// Accepts connections for a gRPC server. gRPC's own listeners stop for ever once the process has no descriptor left.
#ifndef COPSE_RPC_ACCEPT_LOOP_H_
#define COPSE_RPC_ACCEPT_LOOP_H_

#include <functional>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace copse::rpc {

// Connections have descriptors below these numbers, by where they come from. The rest belongs to stores, logs and
// threads; and whoever takes all that are for the network leaves some to this machine's users.
struct DescriptorBounds {
  int network = 0;
  int local = 0;
};

// Returns the bounds for the process's limit of open files.
DescriptorBounds ConnectionDescriptors();

// An AcceptLoop accepts connections on a thread of its own. Without descriptors it tries again every 100 ms.
class AcceptLoop {
 public:
  using Take = std::function<void(int listener, UniqueFd connection)>;

  // `listeners` listen, do not block, and outlive the object. `take` is called on the thread.
  AcceptLoop(std::vector<int> listeners, Take take);
  // Connections that were taken stay.
  ~AcceptLoop();

 private:
  void Run(const std::vector<int>& listeners, const Take& take);

  UniqueFd stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace copse::rpc

#endif  // COPSE_RPC_ACCEPT_LOOP_H_
