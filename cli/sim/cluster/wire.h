// SPDX-License-Identifier: Apache-2.0
//
// The network between simulated nodes: a topology's latencies and bandwidths.
#ifndef COPSE_CLI_SIM_CLUSTER_WIRE_H_
#define COPSE_CLI_SIM_CLUSTER_WIRE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "planner/pricing/team_costs.h"
#include "sim/links.h"
#include "sim/simulator.h"

namespace copse::sim {

// WireFrame is a frame in transit.
struct WireFrame {
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t charged_bytes = 0;  // charged to links, sender and receiver
  std::vector<uint8_t> bytes;
};

// A Wire carries frames between the nodes of `*costs`. A frame's head needs each link's latency; each direction of a
// link carries one frame at a time, in the order of their heads, for StreamNs at its bandwidth; the tail follows the
// head by StreamNs at the path's least bandwidth. Nothing is lost. `*simulator` and `*costs` must outlive it.
// Single-threaded.
class Wire {
 public:
  // `arrived` receives a frame when its tail arrives.
  Wire(Simulator* simulator, const planner::TeamCosts* costs, std::function<void(WireFrame)> arrived);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Sends a frame that the sender releases at `time_ns`, not before now. A sender's times ascend.
  void Send(WireFrame frame, int64_t time_ns);
  // Sends without contention for links, and without a tail: the frame arrives after the path's latency.
  void SendHead(WireFrame frame, int64_t time_ns);

 private:
  struct InFlight {
    WireFrame frame;
    int64_t tail_ns = 0;
    std::vector<Hop> hops;
  };

  uint32_t NewSlot(WireFrame frame);
  // Handles the frame's head at hop number `place`.
  void Pass(uint32_t slot, uint32_t place, int64_t time_ns);
  void ArriveAt(uint32_t slot, int64_t time_ns);

  Simulator* const simulator_;
  const planner::TeamCosts* const costs_;
  const std::function<void(WireFrame)> arrived_;
  std::deque<InFlight> slots_;
  std::vector<uint32_t> free_slots_;
  Links links_;
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_WIRE_H_
