// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/interfaces/store.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "planner/coordinator/interfaces/terms.h"

namespace copse::coordinator {

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
        if constexpr (std::is_same_v<T, PutTeam>) snapshot.teams.insert_or_assign(c.record->layout.id, *c.record);
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
