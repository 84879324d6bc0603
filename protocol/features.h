// SPDX-License-Identifier: Apache-2.0
//
// What planner and daemons tell each other that they can do.
#ifndef COPSE_PROTOCOL_FEATURES_H_
#define COPSE_PROTOCOL_FEATURES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace copse::schedule {

// A Feature is an ability of planner or daemon beyond the first version of the protocol. The peer uses only features
// that were announced. The numbers are part of the wire format.
enum class Feature : uint32_t {
  kSilence = 1,       // planner: handles NeighborSilent
  kDerivedTeams = 2,  // both: handle JoinTeam and Prepare of classes other than kCommon
  kStopping = 3,      // planner: handles Stopping
  kContent = 4,       // daemon: handles TeamContent, and a Prepare that names one (rpc/team_content.h)
  kSubTeams = 40,     // daemon: forms sub-teams with its neighbors; planner: issues TeamIds, handles TeamFormed
  kTeamsHeld = 42,    // planner: compares TeamsHeld with what it knows
  kJoinsByNode = 43,  // planner: handles JoinTeam::more
  kPlanCalls = 60,    // daemon: answers StatusQuery::calls_of
  kOwnTrace = 61,     // daemon: answers TraceQuery::owner
  kCluster = 70,      // daemon: handles Cluster
  kPing = 71,         // daemon: answers Ping
  kLateAddress = 72,  // daemon: answers AddressQuery, and may register without an address
  kTeamPlans = 73,    // daemon: answers PlansQuery
};

// Features is a set of them. A planner has one for each of ten thousand nodes, so it is small: features of later
// versions, with greater numbers than it has room for, are left out.
class Features {
 public:
  static constexpr size_t kCountMax = 128;

  Features() = default;
  Features(std::initializer_list<Feature> features);

  void insert(Feature feature);
  void clear() { bits_ = {}; }
  bool contains(Feature feature) const;
  // Returns them in the order of their numbers.
  std::vector<Feature> All() const;
  friend bool operator==(const Features&, const Features&) = default;

 private:
  static constexpr size_t kWordBits = 64;

  std::array<uint64_t, kCountMax / kWordBits> bits_{};
};

}  // namespace copse::schedule

#endif  // COPSE_PROTOCOL_FEATURES_H_
