// SPDX-License-Identifier: Apache-2.0
//
// Defines the state that the coordinator keeps across a restart of the planner.
#ifndef COPSE_PLANNER_COORDINATOR_STORE_H_
#define COPSE_PLANNER_COORDINATOR_STORE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A TeamRecord is a team as decided: it is written when the first epoch is decided, replaced at every switch, and
// removed when the team has ended. The labels belong to `epoch`: a planner that restarted between record and Commit
// needs them to send that Commit again.
struct TeamRecord {
  schedule::TeamLayout layout;
  EpochId epoch{0};  // the last decided epoch
  // It is the last prepared epoch. It is saved before Prepare of a switch is sent, so that the number of an aborted
  // epoch is never used again: daemons also query one another for its outcome.
  EpochId prepared{0};
  CallSeq first_call{0};           // first call of `epoch`
  std::vector<std::string> plans;  // encoded
  // outgoing[v] has the labels that node v uses towards its neighbors. The list is empty if the planner never knew
  // them: the team was adopted.
  std::vector<std::vector<schedule::EdgeLabel>> outgoing;
  bool broken = false;
  schedule::FailureReport why;  // the reason, if broken
  // machines[v] is node v's NodeAnnouncement::machine, or empty. After a restart it distinguishes a daemon's successor
  // from an unrelated daemon.
  std::vector<std::string> machines;
  friend bool operator==(const TeamRecord&, const TeamRecord&) = default;
};

inline constexpr size_t kAbortedMax = 4096;

struct Snapshot {
  std::map<TeamId, TeamRecord> teams;
  std::set<std::string> draining;  // node names
  // These teams were forming when a planner ended, and a daemon was then ordered to abort them: other daemons may have
  // committed them, and must not keep them. The newest kAbortedMax are kept.
  std::set<TeamId> aborted;
  uint64_t term = 0;  // term of the last planner that used this store; 0: none
};

// A Store keeps a Snapshot. When a Save or Remove returns OK, the change survives a crash of planner and machine; when
// the call fails, nothing has changed. Only the coordinator's thread calls it.
class Store {
 public:
  virtual ~Store() = default;
  virtual absl::StatusOr<Snapshot> Load() = 0;
  virtual absl::Status SaveTeam(const TeamRecord& record) = 0;
  virtual absl::Status RemoveTeam(TeamId team) = 0;
  virtual absl::Status SaveDraining(const std::string& node, bool draining) = 0;
  virtual absl::Status SaveTerm(uint64_t term) = 0;
  virtual absl::Status SaveAborted(TeamId team) = 0;
};

// A MemoryStore survives the coordinator, not the process. It serves the simulator, tests, and a planner without
// `state`.
class MemoryStore : public Store {
 public:
  absl::StatusOr<Snapshot> Load() override { return snapshot_; }
  absl::Status SaveTeam(const TeamRecord& record) override {
    snapshot_.teams[record.layout.id] = record;
    return absl::OkStatus();
  }
  absl::Status RemoveTeam(TeamId team) override {
    snapshot_.teams.erase(team);
    return absl::OkStatus();
  }
  absl::Status SaveDraining(const std::string& node, bool draining) override {
    if (draining) {
      snapshot_.draining.insert(node);
    } else {
      snapshot_.draining.erase(node);
    }
    return absl::OkStatus();
  }
  absl::Status SaveTerm(uint64_t term) override {
    snapshot_.term = term;
    return absl::OkStatus();
  }
  absl::Status SaveAborted(TeamId team) override {
    snapshot_.aborted.insert(team);
    return absl::OkStatus();
  }

 private:
  Snapshot snapshot_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STORE_H_
