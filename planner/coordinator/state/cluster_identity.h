// SPDX-License-Identifier: Apache-2.0
//
// Tracks which cluster the planner belongs to, by a UUID that its store and its daemons remember.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_CLUSTER_IDENTITY_H_
#define COPSE_PLANNER_COORDINATOR_STATE_CLUSTER_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "planner/coordinator/state/outbox.h"

namespace copse::coordinator {

// ForeignTeams are the nodes that were refused since they hold teams of another cluster.
struct ForeignTeams {
  std::string cluster;
  std::set<std::string> nodes;
};

// A ClusterIdentity begins with the store's UUID, or with a new one. A new UUID is given up for that of the first
// daemon that holds teams: the planner's store was lost, and it becomes the same cluster again. Once teams were
// recorded under it, the UUID stays. Thread-compatible.
class ClusterIdentity {
 public:
  // `uuid` and `is_new` are Snapshot's; if there is no UUID, `fresh` is used and recorded in `*outbox`, which must
  // outlive this object. If both are empty, the cluster has no identity, and no daemon is foreign.
  ClusterIdentity(Outbox* outbox, std::string uuid, bool is_new, const std::string& fresh);

  const std::string& uuid() const { return uuid_; }
  // Returns whether teams of cluster `uuid` are not this planner's. Teams without a cluster are its own.
  bool IsForeign(const std::string& uuid) const;
  // Returns whether the UUID may be given up for another. `settled`: all daemons have had time to register since the
  // planner's start.
  bool MayAdopt(bool settled) const { return is_new_ || (was_new_ && !settled); }
  // Takes the UUID of the daemons that hold teams, and records it.
  void Adopt(const std::string& uuid);
  // Notes that a team is recorded under the UUID, which stays from now on.
  void Found();

  // Remembers that `node` was refused since it holds teams of cluster `uuid`; forgets it when it was accepted.
  void NoteRefused(const std::string& uuid, const std::string& node);
  void NoteAccepted(const std::string& node);
  std::vector<ForeignTeams> foreign() const;

 private:
  Outbox* const outbox_;
  std::string uuid_;
  bool is_new_;                   // no team was ever recorded under it
  bool was_new_;                  // is_new_ at the planner's start
  std::set<std::string> former_;  // UUIDs that this planner told daemons before it adopted another one
  std::map<std::string, std::set<std::string>> refused_;  // nodes by cluster
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_CLUSTER_IDENTITY_H_
