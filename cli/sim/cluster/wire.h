// SPDX-License-Identifier: Apache-2.0
//
// Simulates the network between nodes, with the latencies and bandwidths of a topology.
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

// A WireFrame is a frame in transit.
struct WireFrame {
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t charged_bytes = 0;  // bytes for which links, sender and receiver are charged
  std::vector<uint8_t> bytes;
};

// A Wire carries frames between the nodes of `*costs`. A frame's head needs the latency of each link. Each direction of
// a link carries one frame at a time, in the order in which heads arrive, for StreamNs at the link's bandwidth. The
// tail follows the head by StreamNs at the least bandwidth of the path. Nothing is lost. `*simulator` and `*costs` must
// outlive this object. Thread-compatible.
class Wire {
 public:
  // `arrived` is called with each frame when its tail arrives.
  Wire(Simulator* simulator, const planner::TeamCosts* costs, std::function<void(WireFrame)> arrived);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Sends a frame that its sender releases at `time_ns`, which must not be before the simulator's time or before the
  // sender's previous frame.
  void Send(WireFrame frame, int64_t time_ns);
  // Sends a frame that arrives after the path's latency, without contention for links and without a tail.
  void SendHead(WireFrame frame, int64_t time_ns);

 private:
  struct InFlight {
    WireFrame frame;
    int64_t tail_ns = 0;
    std::vector<Hop> hops;
  };

  uint32_t NewSlot(WireFrame frame);
  // Passes the frame's head, which arrives at `time_ns`, over hop number `place` of its path.
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
