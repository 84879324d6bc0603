// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/interfaces/store.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "planner/coordinator/interfaces/terms.h"
#include "schedule/plan.h"

namespace copse::coordinator {

std::vector<PlanId> PlanIdsIn(const std::vector<std::string>& plans) {
  std::vector<PlanId> ids;
  for (const std::string& encoded : plans) {
    if (encoded.size() >= schedule::kEncodedIdEnd) ids.push_back(schedule::PlanIdIn(encoded));
  }
  return ids;
}

std::vector<PlanId> PlanIdsOf(const TeamRecord& record) {
  return record.plans.empty() ? record.plan_ids : PlanIdsIn(record.plans);
}

TeamRecord DecisionOf(TeamRecord record) {
  record.plan_ids = PlanIdsOf(record);
  record.plans.clear();
  for (schedule::TeamNode& node : record.layout.nodes) node.worker_address.clear();
  return record;
}

void Outdate(Snapshot& snapshot) {
  uint64_t term = snapshot.term <= kTermBelievedMax ? snapshot.term : 0;
  if (!snapshot.teams.empty()) term = std::max(term, TermOf(snapshot.teams.rbegin()->first));
  if (!snapshot.aborted.empty()) term = std::max(term, TermOf(*snapshot.aborted.rbegin()));
  snapshot.term = term + kLostTerms;
  snapshot.since = snapshot.term + 1;
}

void Apply(const StoreChange& change, Snapshot& snapshot) {
  std::visit(
      [&](const auto& c) {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, PutTeam>) {
          snapshot.teams.insert_or_assign(c.record->layout.id, DecisionOf(*c.record));
        }
        if constexpr (std::is_same_v<T, DropTeam>) snapshot.teams.erase(c.team);
        if constexpr (std::is_same_v<T, PutTerm>) {
          snapshot.term = c.term;
          snapshot.since = c.since;
        }
        if constexpr (std::is_same_v<T, PutCluster>) {
          snapshot.cluster = c.uuid;
          snapshot.cluster_is_new = c.is_new;
        }
        if constexpr (std::is_same_v<T, PutAborted>) snapshot.aborted.insert(c.team);
        if constexpr (std::is_same_v<T, PutTopology>) {
          snapshot.topologies.insert_or_assign(c.version->version, *c.version);
        }
        if constexpr (std::is_same_v<T, DropTopology>) snapshot.topologies.erase(c.version);
        if constexpr (std::is_same_v<T, PutDraining>) {
          if (c.draining) {
            snapshot.draining[c.node] = c.why;
          } else {
            snapshot.draining.erase(c.node);
          }
        }
      },
      change);
}

}  // namespace copse::coordinator
