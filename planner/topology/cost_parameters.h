// SPDX-License-Identifier: Apache-2.0
//
// The costs that all nodes of a cluster have alike.
#ifndef COPSE_PLANNER_TOPOLOGY_COST_PARAMETERS_H_
#define COPSE_PLANNER_TOPOLOGY_COST_PARAMETERS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace copse::topology {

// Where the defaults come from. Our own, for daemons that are processes of one small machine and speak TCP over
// loopback; the sources we follow print no figures for a trigger unit made of software. What was measured: one way
// between two sleeping processes 10 us over TCP on one core and 5.8 us through shared memory, 5 us over TCP without
// sleeping; a wake across cores 20 to 30 us. With FlatCosts, 2 us to send, 1 us under way and 2 us to
// receive, that leaves 5 us for a wake and 1 us for a client's hop. A core that changes whom it runs is ours, too: less
// than a wake. The rates are those of memory copies and of a
// loop over doubles.
struct CalibrateDefaults {
  static constexpr int64_t kWakeNs = 5'000;
  static constexpr int64_t kTakeoverNs = 2'000;
  static constexpr int64_t kClientHopNs = 1'000;
  static constexpr int64_t kArmNs = 50;
  static constexpr int64_t kMessagePsPerByte = 250;
  static constexpr int64_t kCopyPsPerByte = 100;
  static constexpr int64_t kAluPsPerByte = 300;
};

inline constexpr int64_t kCostParameterMax = 1'000'000'000;

// What costs the same at all nodes of a cluster. Overheads, latencies and bandwidths differ by node: they are the
// topology's. Nanoseconds, and picoseconds a byte; each in [0, kCostParameterMax].
struct CostParameters {
  int64_t wake_ns = CalibrateDefaults::kWakeNs;  // before a daemon or rank that sleeps does anything
  // In place of it if a core had to be waited for: that core is awake, and only changes whom it runs.
  int64_t takeover_ns = CalibrateDefaults::kTakeoverNs;
  // A daemon or rank idle for no longer than this is still awake, if nobody else wants its core.
  int64_t spin_ns = 0;
  int64_t client_hop_ns =
      CalibrateDefaults::kClientHopNs;         // a rank's own work to post a call, and to take up its result
  int64_t arm_ns = CalibrateDefaults::kArmNs;  // a descriptor: to fetch it and to arm it
  int64_t send_ps_per_byte = CalibrateDefaults::kMessagePsPerByte;
  int64_t receive_ps_per_byte = CalibrateDefaults::kMessagePsPerByte;
  int64_t copy_ps_per_byte = CalibrateDefaults::kCopyPsPerByte;
  int64_t alu_ps_per_byte = CalibrateDefaults::kAluPsPerByte;  // an operand's byte that is combined with another
  friend bool operator==(const CostParameters&, const CostParameters&) = default;
};

// INVALID_ARGUMENT names the parameter that is out of range.
absl::Status CheckCostParameters(const CostParameters& parameters);

// All parameters by name, in the order above.
struct CostParameterField {
  const char* name;  // "wake_ns"
  int64_t CostParameters::*member;
};
absl::Span<const CostParameterField> CostParameterFields();

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_COST_PARAMETERS_H_
