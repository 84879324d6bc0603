// SPDX-License-Identifier: Apache-2.0
//
// What planner and daemons tell each other that they can do.
#ifndef COPSE_PROTOCOL_FEATURES_H_
#define COPSE_PROTOCOL_FEATURES_H_

#include <bitset>
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
  Features(std::initializer_list<Feature> features) {
    for (const Feature feature : features) insert(feature);
  }

  void insert(Feature feature) {
    if (NumberOf(feature) < kCountMax) bits_.set(NumberOf(feature));
  }
  void clear() { bits_.reset(); }
  bool contains(Feature feature) const { return NumberOf(feature) < kCountMax && bits_.test(NumberOf(feature)); }
  // Returns them in the order of their numbers.
  std::vector<Feature> All() const {
    std::vector<Feature> all;
    for (size_t number = 0; number < kCountMax; ++number) {
      if (bits_.test(number)) all.push_back(static_cast<Feature>(number));
    }
    return all;
  }
  friend bool operator==(const Features&, const Features&) = default;

 private:
  static size_t NumberOf(Feature feature) { return static_cast<size_t>(feature); }

  std::bitset<kCountMax> bits_;
};

}  // namespace copse::schedule

#endif  // COPSE_PROTOCOL_FEATURES_H_
