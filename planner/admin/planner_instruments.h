// SPDX-License-Identifier: Apache-2.0
//
// Reads what the planner counts of itself, for administrators. docs/reference/instruments.md lists the counters.
#ifndef COPSE_PLANNER_ADMIN_PLANNER_INSTRUMENTS_H_
#define COPSE_PLANNER_ADMIN_PLANNER_INSTRUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "planner/coordinator/coordinator.h"
#include "planner/sessions/daemon_service.h"
#include "planner/threads/cluster_plan_maker.h"
#include "planner/threads/plan_workers.h"
#include "planner/threads/task_queue.h"
#include "planner/threads/turn_counts.h"
#include "rpc/identity.h"

namespace copse::planner {

// PlannerParts are the parts that count. They must outlive the instruments.
struct PlannerParts {
  const Clock* clock = nullptr;
  const TaskQueue* queue = nullptr;
  const TurnCounts* turns = nullptr;
  const DaemonService* streams = nullptr;
  const coordinator::Coordinator* coordinator = nullptr;
  const ClusterPlanMaker* plan_maker = nullptr;
  const PlanWorkers* plan_workers = nullptr;
  const rpc::Identity* identity = nullptr;  // null: no TLS
};

struct PlannerState {
  std::string address;  // HOST:PORT at which it listens
  std::string store;    // as configured: "memory", or a file
  uint64_t term = 0;
  std::string cluster;       // UUID
  uint64_t quarantined = 0;  // things that the store could not read, and keeps aside
  std::vector<coordinator::ForeignTeams> foreign;
  absl::Duration since;  // time since its start
  uint64_t sessions = 0;
  absl::Duration oldest_task;  // time that the oldest pending task has waited; 0: none is pending
  absl::Duration longest_turn;
  absl::Time longest_turn_at;  // InfinitePast: no turn has ended
};

// PlannerInstruments belong to the planner's process; only the planner's thread calls them.
class PlannerInstruments {
 public:
  PlannerInstruments(PlannerParts parts, std::string store)
      : parts_(parts), store_(std::move(store)), started_(parts.clock->Now()) {}
  void SetAddress(std::string address) { address_ = std::move(address); }

  PlannerState State() const;
  // Returns when the certificate ends with which a node has registered; InfiniteFuture if it has shown none.
  absl::Time CertificateEnds(const std::string& node) const { return parts_.streams->CertificateEnds(node); }
  // Costs some milliseconds with 10,000 nodes.
  std::map<std::string, uint64_t> Counters() const;
  // Return values in nanoseconds: processor time of turns, and the times that formed teams took (FormationCounts).
  const Histogram& turns() const { return parts_.turns->cpu_ns(); }
  const Histogram& formations() const { return parts_.coordinator->formations().time_ns(); }

 private:
  absl::Duration OldestTask() const;
  uint64_t CertificatesThatEndSoon() const;

  const PlannerParts parts_;
  const std::string store_;
  const absl::Time started_;
  std::string address_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_PLANNER_INSTRUMENTS_H_
