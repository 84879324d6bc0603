// SPDX-License-Identifier: Apache-2.0
//
// Defines the costs that are equal at all nodes of a cluster.
#ifndef COPSE_PLANNER_TOPOLOGY_COST_PARAMETERS_H_
#define COPSE_PLANNER_TOPOLOGY_COST_PARAMETERS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace copse::topology {

inline constexpr int64_t kCostParameterMax = 1'000'000'000;

// CostParameters holds the costs that are equal at all nodes of a cluster, in nanoseconds or picoseconds per byte, each
// in [0, kCostParameterMax]. Overheads, latencies and bandwidths differ by node and belong to the topology.
//
// The defaults are for daemons that are processes of one small machine and use TCP over loopback. They are measured,
// since no source gives figures for a trigger unit made of software: a message between two sleeping processes takes 10
// us over TCP on one core and 5.8 us through shared memory, 5 us over TCP without sleeping; a wake across cores takes
// 20 to 30 us. With FlatCosts (2 us to send, 1 us on the path, 2 us to receive), 5 us are left for a wake and 1 us for
// a client's hop. The cost of a core's switch to another process is an estimate: less than a wake. The costs per byte
// are those of memory copies and of a loop over doubles.
struct CostParameters {
  int64_t wake_ns = 5'000;  // time until a sleeping daemon or rank runs
  // Replaces wake_ns after a wait for a core: that core is awake, and only switches to another process.
  int64_t takeover_ns = 2'000;
  // A daemon or rank that is idle for no longer than this stays awake, unless another one needs the core.
  int64_t spin_ns = 0;
  int64_t client_hop_ns = 1'000;  // a rank's own work to post a call, and to take up its result
  int64_t arm_ns = 50;            // time to fetch and arm a descriptor
  int64_t send_ps_per_byte = 250;
  int64_t receive_ps_per_byte = 250;
  int64_t copy_ps_per_byte = 100;
  int64_t alu_ps_per_byte = 300;  // per byte of an operand that is combined with another
  friend bool operator==(const CostParameters&, const CostParameters&) = default;
};

// Returns INVALID_ARGUMENT with the name of the parameter that is out of range.
absl::Status CheckCostParameters(const CostParameters& parameters);

// A CostParameterField describes one parameter. CostParameterFields returns all of them in the order above.
struct CostParameterField {
  const char* name;  // "wake_ns"
  int64_t CostParameters::*member;
};
absl::Span<const CostParameterField> CostParameterFields();

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_COST_PARAMETERS_H_
