// SPDX-License-Identifier: Apache-2.0
//
// Prices trees on a trigger unit with three known overheads, and compares them with published figures.
#ifndef COPSE_CLI_SIM_BARRIER_MODEL_H_
#define COPSE_CLI_SIM_BARRIER_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/cost_model.h"
#include "schedule/plan.h"

namespace copse::simcli {

// TriggerOverheads holds the overheads of equal nodes at equal distances from each other, in nanoseconds. They include
// the time for a packet's bytes.
struct TriggerOverheads {
  int64_t send_ns = 0;        // the sender's work for a packet
  int64_t transfer_ns = 0;    // a packet's transit, from the end of the sender's work
  int64_t receive_ns = 0;     // the receiver's work for a packet; 0: equal to send_ns
  int64_t arm_ns = 0;         // arming of a descriptor, before the call
  int64_t wake_ns = 0;        // wake-up of a sleeping unit or process; 0 for hardware
  int64_t client_hop_ns = 0;  // a process's work to post, and again to fetch its result
};
// Returns the overheads of Copse's daemons on one machine without calibration: the defaults of the topology file.
TriggerOverheads DaemonOverheads();

// Predicts every rank's time, for one rank per node. The primitive sequence of each node runs in order (patent
// CN104360936A: Start, RecvFrom, SendTo, Wait, End): SendTo takes the node send_ns; the packet reaches the peer
// transfer_ns later and takes it receive_ns; Wait ends when the last awaited packet has been received. The recurrence
// is the cost model's (docs/reference/cost-model.md), since the patent's formulas are not available. Errors:
// INVALID_ARGUMENT for an overhead out of range; those of planner::Price.
absl::StatusOr<planner::Prediction> PriceOnTriggers(const schedule::Plan& plan, const CallArguments& call,
                                                    const TriggerOverheads& overheads);
// Returns the time of an algorithm of structure.h over `nodes` nodes. Errors: those of BuildStructure and
// PriceOnTriggers.
absl::StatusOr<int64_t> TimeOnTriggers(const std::string& algorithm, uint32_t nodes, const CallArguments& call,
                                       const TriggerOverheads& overheads);

// A PublishedFigure is a time published by Wang, Zhang, Xie, Dong, for one rank per node and 48 B.
struct PublishedFigure {
  std::string algorithm;
  Collective collective;
  uint32_t nodes = 0;
  int64_t ns = 0;
};
std::vector<PublishedFigure> PublishedFigures();

// A PublishedOrdering is a statement of that paper about the order of algorithms: in each of its comparisons `faster`
// takes less time than `slower`.
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

// Holding counts the comparisons of an ordering that hold in the model (`holding`), and those in which both times are
// equal (`equal`, not part of `holding`).
struct Holding {
  uint32_t holding = 0;
  uint32_t equal = 0;
};
// Evaluates the ordering's comparisons. Errors: those of TimeOnTriggers.
absl::StatusOr<Holding> CountHolding(const PublishedOrdering& ordering, const TriggerOverheads& overheads);

// Returns the overheads with which the model is nearest to the Allreduce figures. The search begins at `start`, whose
// overheads of 0 stay 0; a receive_ns of 0 becomes equal to send_ns. Errors: those of planner::Calibrate.
absl::StatusOr<TriggerOverheads> FitToPublished(const TriggerOverheads& start);

// Returns send, transfer and receive overheads whose ratios span four orders of magnitude. If an ordering holds for
// none of them, the model cannot explain it.
std::vector<TriggerOverheads> OverheadGrid();

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_BARRIER_MODEL_H_
