// SPDX-License-Identifier: Apache-2.0
//
// Merges what daemons report of calls in flight.
#ifndef COPSE_PLANNER_COORDINATOR_VIEWS_CALL_MERGE_H_
#define COPSE_PLANNER_COORDINATOR_VIEWS_CALL_MERGE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "protocol/control.h"

namespace copse::coordinator {

// CollectiveInfo describes a call in flight, merged from the nodes' status.
struct CollectiveInfo {
  TeamId team{0};
  CallSeq sequence{0};
  CallArguments arguments;
  double age_s = 0;  // seconds in flight, at the node where it began first
  std::vector<Rank> joined;
  std::vector<Rank> missing;
  Family waits_for = Family::kCommon;  // as in schedule::CallStatus
};

// A CallMerge takes the reports of daemons one by one, and then returns the calls one by one, so that no step is long
// for many daemons or calls. Calls follow Add* (Next | Counts)*. Thread-compatible.
class CallMerge {
 public:
  // `node` is the daemon's node.
  void Add(const std::string& node, const schedule::DaemonStatus& status);

  // Returns the number of calls by team.
  std::map<TeamId, uint32_t> Counts() const;
  // Returns the team of the next call by (team, awaited class, sequence), or nullopt if there is none.
  std::optional<TeamId> NextTeam() const;
  // Removes and returns the next call; `layout` is its team's, or null if the team is not known. A rank is missing if
  // no daemon reports that it has joined, and one reports that it has not, or its own daemon has not been added.
  // Requires NextTeam().
  CollectiveInfo Next(const schedule::TeamLayout* layout);

 private:
  struct Merged {
    CollectiveInfo info;
    std::set<Rank> joined, missing;
  };
  std::map<std::tuple<TeamId, Family, CallSeq>, Merged> calls_;
  std::map<std::pair<TeamId, Rank>, CallSeq> progress_;
  std::set<std::string> answered_;  // nodes
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_VIEWS_CALL_MERGE_H_
