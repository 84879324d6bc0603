// SPDX-License-Identifier: Apache-2.0
//
// Carries what the daemons of a random run say to each other about sub-teams, without a planner.
#ifndef COPSE_PLANNER_COORDINATOR_RANDOM_PEERS_H_
#define COPSE_PLANNER_COORDINATOR_RANDOM_PEERS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "planner/coordinator/random/history.h"
#include "protocol/control.h"

namespace copse::coordinator {

struct World;

// A SubTeamMessage is about a sub-team that daemons form. Its root sends kPrepare, and kForm or kDrop; members answer
// kPrepare by kAccept or kRefuse, and send each other kBreak.
struct SubTeamMessage {
  enum class Kind : uint8_t { kPrepare, kAccept, kRefuse, kForm, kDrop, kBreak };
  Kind kind = Kind::kPrepare;
  TeamId id{0};
  // --- kPrepare ---
  schedule::TeamLayout layout;
  EpochId parent_epoch{0};         // the plans are those of this epoch of the parent; 0: `plans`
  std::vector<std::string> plans;  // EncodePlan
};

// Peers keeps the order of messages between two daemons, as their connection does.
class Peers {
 public:
  // `*world` must outlive this object.
  explicit Peers(World* world) : world_(world) {}

  void Send(const NodeKey& from, const schedule::TeamNode& to, SubTeamMessage message);
  // Moves one message. Returns false if there is none.
  bool Deliver();
  // The daemon has died: what it has sent, and what it was sent, is lost.
  void Drop(const NodeKey& dead);

 private:
  World* const world_;
  std::map<std::pair<NodeKey, NodeKey>, std::deque<SubTeamMessage>> under_way_;  // by sender and receiver
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_RANDOM_PEERS_H_
