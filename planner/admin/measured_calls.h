// SPDX-License-Identifier: Apache-2.0
//
// Finds in daemons' histograms what calls took that a plan serves, and why a prediction of them is off.
#ifndef COPSE_PLANNER_ADMIN_MEASURED_CALLS_H_
#define COPSE_PLANNER_ADMIN_MEASURED_CALLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::planner {

// A MeasuredCall describes calls of one size class at one node. Daemons measure the calls of all teams together.
struct MeasuredCall {
  // Bytes by which plans are selected (schedule::PlanBytesOf), at the lower end of the size class, where powers of two
  // are; nullopt: the daemons cannot tell, as of blocks of different lengths.
  coordinator::PlanMaker::Bytes plan_bytes;
  uint64_t bytes_min = 0, bytes_max = 0;  // size class of the calls' messages
  std::string node;
  uint64_t count = 0;  // of ranks' calls
  double median_us = 0, least_us = 0;
  double apart_us = 0;  // median time between the first and the last rank of the node
  // The node's processes that use Copse, and the teams that it has ranks of.
  uint32_t clients = 0, teams = 0;
  std::optional<uint64_t> others;  // ranks' calls there that the plan could serve and did not; nullopt: not known
};

// MeasuredCalls gathers the answers of daemons. Thread-compatible.
class MeasuredCalls {
 public:
  // `status` has latencies.
  void Add(const schedule::DaemonStatus& status);
  // `status` has the calls by each plan of the team.
  void AddPlanCalls(TeamId team, const schedule::DaemonStatus& status);
  // Returns whether a node of the team has measured any calls.
  bool Has(const schedule::TeamLayout& layout) const;
  // Returns what calls took at the node of the team where they took longest, of the size class with the most calls of
  // those that `plan` of the team serves; nullopt: there were none. Nodes that tell that no call of the team has used
  // the plan do not count.
  // The plan's id is `id`, whichever `plan` has: lists decode plans that differ in nothing else once.
  std::optional<MeasuredCall> Of(const schedule::TeamLayout& layout, PlanId id, const schedule::Plan& plan) const;
  // Returns the processes of all nodes that have answered.
  uint32_t clients() const;

 private:
  struct NodeCalls {
    std::vector<schedule::LatencyStatus> latencies;
    uint32_t clients = 0, teams = 0;
    std::map<TeamId, std::map<PlanId, uint64_t>> by_plan;  // of the teams of which the daemon has told
  };
  // Returns how many calls of the team have used the plan at the node; nullopt: not known.
  static std::optional<uint64_t> CallsOf(const schedule::TeamLayout& layout, PlanId plan, const NodeCalls& node);

  std::map<std::string, NodeCalls> nodes_;
};

// A prediction is off if it differs from what was measured by more than this factor.
inline constexpr double kOffFactor = 2;

// Surroundings are what is known of the node and of the figures by which calls were priced.
struct Surroundings {
  std::string links;       // where the links' figures are from: "defaults", "import yaml FILE"; empty: measured
  uint32_t processes = 0;  // that share the node's cores
  uint32_t cores = 0;      // 0: not known
};

// Returns one line that says by how much the prediction is off, and what is known of the cause; empty if it is not off.
std::string WhyOff(double predicted_us, const MeasuredCall& measured, const Surroundings& around);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_MEASURED_CALLS_H_
