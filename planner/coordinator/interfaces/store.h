// SPDX-License-Identifier: Apache-2.0
//
// Defines the state that the coordinator keeps across a restart of the planner.
#ifndef COPSE_PLANNER_COORDINATOR_INTERFACES_STORE_H_
#define COPSE_PLANNER_COORDINATOR_INTERFACES_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A TeamRecord is a team as decided: it is written when the first epoch is decided, replaced at every switch, and
// removed when the team has ended. A store keeps what cannot be had from daemons (DecisionOf). The labels belong to
// `epoch`: a planner that restarted between record and Commit needs them to send that Commit again.
struct TeamRecord {
  schedule::TeamLayout layout;
  EpochId epoch{0};  // the last decided epoch
  // It is the last prepared epoch. It is saved before Prepare of a switch is sent, so that the number of an aborted
  // epoch is never used again: daemons also query one another for its outcome.
  EpochId prepared{0};
  CallSeq first_call{0};           // first call of `epoch`
  std::vector<std::string> plans;  // encoded; empty: not known, until a daemon that has them registers
  // The plans' ids, and the name of nodes, ranks and plans (rpc/team_content.h), or "" if there is none: these say
  // which plans a daemon should bring. Of no meaning while `plans` is not empty.
  std::vector<PlanId> plan_ids;
  std::string content;
  // outgoing[v] has the labels that node v uses towards its neighbors. The list is empty if all members that remained
  // had committed the epoch when this was recorded, or the planner never knew the labels: the team was adopted.
  std::vector<std::vector<schedule::EdgeLabel>> outgoing;
  bool broken = false;
  schedule::FailureReport why;  // the reason, if broken
  // machines[v] is node v's NodeAnnouncement::machine, or empty. After a restart it distinguishes a daemon's successor
  // from an unrelated daemon.
  std::vector<std::string> machines;
  friend bool operator==(const TeamRecord&, const TeamRecord&) = default;
};

// Returns the ids of encoded plans, in their order; of the record's, whether the plans are known or not.
std::vector<PlanId> PlanIdsIn(const std::vector<std::string>& plans);
std::vector<PlanId> PlanIdsOf(const TeamRecord& record);

// Returns what stores keep of a record: not the plans, which daemons bring back when they register, nor addresses. Its
// `content` is the record's, also if that has plans.
TeamRecord DecisionOf(TeamRecord record);

// A TopologyVersion is a topology that was put into force. The coordinator only keeps it.
struct TopologyVersion {
  uint64_t version = 0;  // from 1
  absl::Time applied;
  std::string source;      // origin: "file /etc/copse/topology.yaml", "import slurm topology.conf"
  bool from_file = false;  // true: from the file that the configuration names
  std::string text;        // content of a topology file; empty: no topology, all nodes on one switch
  friend bool operator==(const TopologyVersion&, const TopologyVersion&) = default;
};

inline constexpr size_t kAbortedMax = 4096;

struct Snapshot {
  std::map<TeamId, TeamRecord> teams;
  std::map<std::string, std::string> draining;  // why, by the nodes' names
  // These teams were forming when a planner ended, and a daemon was then ordered to abort them: other daemons may have
  // committed them, and must not keep them. The newest kAbortedMax are kept.
  std::set<TeamId> aborted;
  std::map<uint64_t, TopologyVersion> topologies;  // by their numbers
  uint64_t term = 0;                               // term of the last planner that used this store; 0: none
  uint64_t since = 0;                              // the store has all decisions of the terms from this one to `term`
  std::string cluster;          // UUID; empty: the store was never used, or an earlier version has made it
  bool cluster_is_new = false;  // no team was recorded under that UUID
  uint64_t quarantined = 0;     // things that the store could not read, and keeps aside
};

// --- Changes of a Snapshot ---
struct PutTeam {
  std::shared_ptr<const TeamRecord> record;
};
struct DropTeam {
  TeamId team{0};
};
struct PutDraining {
  std::string node;
  bool draining = false;
  std::string why;  // as the administrator said; empty: nothing, or the node is not draining
};
struct PutTerm {
  uint64_t term = 0;
  uint64_t since = 0;  // Snapshot::since
};
struct PutCluster {
  std::string uuid;
  bool is_new = false;  // Snapshot::cluster_is_new
};
struct PutAborted {
  TeamId team{0};
};
struct PutTopology {
  std::shared_ptr<const TopologyVersion> version;
};
struct DropTopology {
  uint64_t version = 0;
};
using StoreChange =
    std::variant<PutTeam, DropTeam, PutDraining, PutTerm, PutCluster, PutAborted, PutTopology, DropTopology>;

// Makes the snapshot one that is older than what daemons know, as a copy is, or one whose terms cannot be read: its
// term is raised far above all that it has, and none of its terms counts as recorded.
void Outdate(Snapshot& snapshot);

// Makes a change of a snapshot in memory.
void Apply(const StoreChange& change, Snapshot& snapshot);

// A Store keeps a Snapshot, which survives a crash of planner and machine. Only the coordinator's thread calls it.
class Store {
 public:
  virtual ~Store() = default;
  // Blocks. Called once, before the first Commit.
  virtual absl::StatusOr<Snapshot> Load() = 0;
  // Makes all changes, in their order, or none, and calls `done` on the coordinator's thread, then or later. At most
  // one commit is in flight. Errors: ABORTED: another planner leads, and nothing was nor ever will be changed;
  // RESOURCE_EXHAUSTED: there is no room, and nothing was changed; any other: it is not known whether the changes were
  // made. The same changes may be committed again.
  virtual void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) = 0;
};

// A MemoryStore survives the coordinator, not the process. It serves the simulator, tests, and a planner without
// `state`.
class MemoryStore : public Store {
 public:
  absl::StatusOr<Snapshot> Load() override { return snapshot_; }
  void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) override {
    for (const StoreChange& change : changes) Apply(change, snapshot_);
    done(absl::OkStatus());
  }

 private:
  Snapshot snapshot_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_INTERFACES_STORE_H_
