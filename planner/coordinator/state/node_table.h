// SPDX-License-Identifier: Apache-2.0
//
// Keeps the daemons that the coordinator knows, and the sessions by which they are connected.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_NODE_TABLE_H_
#define COPSE_PLANNER_COORDINATOR_STATE_NODE_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/state/outbox.h"
#include "planner/coordinator/state/timer_queue.h"
#include "protocol/control.h"

namespace copse::coordinator {

struct Session {
  std::string from;                // the peer's address
  std::string node;                // empty: not registered
  bool has_foreign_teams = false;  // the daemon has named teams of another cluster
  TimerId register_timer;
  // Requests of the joins that were received and not aborted; at most kRequestsMax. A daemon repeats its joins when
  // it receives Registered, including those that it has just sent.
  std::set<uint64_t> requests;
};

// A Node is the daemon (one incarnation) that has the name at present. Daemons that had the name before may still be
// members of teams; they are away.
struct Node {
  schedule::NodeAnnouncement announcement;
  SessionId session = 0;            // 0: no stream
  SessionId asked_for_address = 0;  // the session whose daemon was asked
  std::string from;                 // the peer's address of its last stream
  bool has_registered = false;      // true once it has registered with this coordinator
  bool all_is_recorded = false;     // true if the store has every decision that the daemon may know
  bool stopping = false;            // true if the daemon takes no new teams, and ends
  absl::Time away_since;
  absl::Time lost_at = absl::InfinitePast();  // time at which other daemons last reported it gone
  std::set<TeamId> teams;                     // teams that have this incarnation as a member
  // Teams of its last TeamsHeld that are not as the coordinator has them. InfiniteFuture: that is settled.
  std::map<TeamId, absl::Time> differs_since;
  // What it said of itself last on this stream, and when. Absent: daemons of earlier versions do not.
  std::optional<schedule::StatusReport> report;
  absl::Time reported_at;

  bool is_connected() const { return session != 0; }
  // Returns whether the daemon opens its data plane only when it is asked, and has not told its address yet.
  bool lacks_address() const {
    return is_connected() && announcement.worker_address.empty() &&
           announcement.features.contains(schedule::Feature::kLateAddress);
  }
  // Other daemons may report the loss before the stream ends, but a report from long before concerned another event.
  bool is_lost() const { return session == 0 && lost_at > away_since - absl::Minutes(1); }
};

// A NodeTable finds daemons by name, by session and by their memberships. Pointers stay valid until the node or
// session is erased. Thread-compatible.
class NodeTable {
 public:
  explicit NodeTable(Outbox* outbox) : outbox_(outbox) {}  // `outbox` must outlive this object

  // --- Sessions ---
  Session& AddSession(SessionId id) { return sessions_[id]; }
  Session* FindSession(SessionId id);
  Session& SessionOf(SessionId id) { return sessions_.at(id); }  // requires that it exists
  void EraseSession(SessionId id) { sessions_.erase(id); }
  void ForgetRequest(SessionId id, uint64_t request);

  // --- Nodes, by name ---
  const std::map<std::string, Node>& all() const { return nodes_; }
  template <typename Function>
  void ForEach(Function function) {  // of Node&
    for (auto& [name, node] : nodes_) function(node);
  }
  // Returns the node, and whether it is new.
  std::pair<Node&, bool> FindOrAdd(const std::string& name);
  void Erase(const std::string& name);
  Node* Find(const std::string& name);
  const Node* Find(const std::string& name) const;
  Node& At(const std::string& name) { return index_.at(name)->second; }  // requires that it exists
  const Node& At(const std::string& name) const { return index_.at(name)->second; }
  const Node* After(const std::string& name) const;  // in order of names; null: there is none
  Node* NodeOf(SessionId session);                   // null if it has not registered
  // Returns null unless this incarnation is connected.
  const Node* Live(const schedule::TeamNode& member) const;
  // Returns whether all are connected, and have the feature.
  bool AllHave(absl::Span<const schedule::TeamNode> members, schedule::Feature feature) const;

  // Asks the daemons among them that lack an address for it, once; returns their indices, in order.
  std::vector<uint32_t> AskForAddresses(absl::Span<const schedule::TeamNode> members);

  void SendTo(const schedule::TeamNode& member, const schedule::ToDaemon& message);  // if it is connected
  // Records the machine of a member, or of all members, if it is connected.
  void NoteMachine(TeamRecord& record, uint32_t member) const;
  void NoteMachines(TeamRecord& record) const;

 private:
  Outbox* const outbox_;
  std::map<SessionId, Session> sessions_;
  std::map<std::string, Node> nodes_;
  // A large team's members are looked up one after the other, in one turn. The keys are those of `nodes_`.
  absl::flat_hash_map<absl::string_view, std::map<std::string, Node>::iterator> index_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_NODE_TABLE_H_
