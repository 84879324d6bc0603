// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/store.h"

#include <type_traits>
#include <variant>

namespace copse::coordinator {

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
        if constexpr (std::is_same_v<T, PutAborted>) snapshot.aborted.insert(c.team);
        if constexpr (std::is_same_v<T, PutDraining>) {
          if (c.draining) {
            snapshot.draining.insert(c.node);
          } else {
            snapshot.draining.erase(c.node);
          }
        }
      },
      change);
}

}  // namespace copse::coordinator
