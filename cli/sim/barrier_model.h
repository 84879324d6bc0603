// SPDX-License-Identifier: Apache-2.0
//
// Prices trees on a trigger unit with three known overheads, and compares them with published figures.
#ifndef COPSE_CLI_SIM_BARRIER_MODEL_H_
#define COPSE_CLI_SIM_BARRIER_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/cost_model.h"
#include "schedule/plan.h"

namespace copse::simcli {

// TriggerOverheads is for nodes that are all alike, and equally far from each other. Nanoseconds; a packet's bytes are
// included.
struct TriggerOverheads {
  int64_t send_ns = 0;        // a packet occupies its sender
  int64_t transfer_ns = 0;    // from then until it is at the receiver
  int64_t receive_ns = 0;     // a packet occupies its receiver
  int64_t arm_ns = 0;         // for a descriptor, before the call
  int64_t wake_ns = 0;        // before a sleeping unit or process does anything: 0 for hardware
  int64_t client_hop_ns = 0;  // a process's own work to post, and to take up its result
};
// Returns the overheads of Copse's daemons on one machine without calibration: the defaults of the topology file.
TriggerOverheads DaemonOverheads();

// Predicts every rank's time: the primitive sequences of its node run in order (CN104360936A: Start, RecvFrom, SendTo,
// Wait, End); SendTo occupies the node for `send`, its packet is at the peer `transfer` later and occupies that for
// `receive`; Wait ends when the last awaited packet has been taken. The recurrence is the cost model's
// (docs/reference/cost-model.md); the patent's own formulas are lost. One rank a node. Errors: INVALID_ARGUMENT for an
// overhead out of range; those of planner::Price.
absl::StatusOr<planner::Prediction> PriceOnTriggers(const schedule::Plan& plan, const CallArguments& call,
                                                    const TriggerOverheads& overheads);
// Returns the time of an algorithm of structure.h over `nodes` nodes. Errors: those of BuildStructure and
// PriceOnTriggers.
absl::StatusOr<int64_t> TimeOnTriggers(const std::string& algorithm, uint32_t nodes, const CallArguments& call,
                                       const TriggerOverheads& overheads);

// PublishedFigure is one figure of Wang, Zhang, Xie, Dong: one rank a node, 48 B.
struct PublishedFigure {
  std::string algorithm;
  Collective collective;
  uint32_t nodes = 0;
  int64_t ns = 0;
};
std::vector<PublishedFigure> PublishedFigures();

// PublishedOrdering is one ordering of that paper: in each of its comparisons `faster` should take less time than
// `slower`.
struct PublishedOrdering {
  struct Comparison {
    Collective collective;
    uint32_t nodes = 0;
    std::string faster, slower;
  };
  std::string what;
  std::vector<Comparison> comparisons;
};
std::vector<PublishedOrdering> PublishedOrderings();

// Holding counts the ordering's comparisons that hold, and those in which both take the same. Errors: those of
// TimeOnTriggers.
struct Holding {
  uint32_t holding = 0;
  uint32_t equal = 0;
};
absl::StatusOr<Holding> CountHolding(const PublishedOrdering& ordering, const TriggerOverheads& overheads);

// Returns the overheads with which the model is nearest to the Allreduce figures, starting from `start`; overheads that
// are 0 there stay 0. Errors: those of planner::Calibrate.
absl::StatusOr<TriggerOverheads> FitToPublished(const TriggerOverheads& start);

// Returns send, transfer and receive overheads whose ratios span four orders of magnitude: an ordering that holds for
// none of them is outside the model.
std::vector<TriggerOverheads> OverheadGrid();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_BARRIER_MODEL_H_
