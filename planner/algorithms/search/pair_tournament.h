// SPDX-License-Identifier: Apache-2.0
//
// Finds the cheapest message between any two nodes of a cluster, fast enough for a million nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/process/huge_pages.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/search/element_trees.h"
#include "planner/algorithms/search/least.h"
#include "planner/algorithms/search/winner_tree.h"

namespace copse::planner {

// A PairTournament holds a key for each sender and each receiver of a cluster, and finds the pair (s, r) with the least
//
//   key(s) + Stream(s, r) + Latency(s, r) + key(r);          ties go to the least s, then the least r.
//
// A path leads up to a switch, where it turns, and down again. Its Stream is that of its slowest link, and so the
// greater one of its two sides. Every switch sorts the nodes below it by the Stream of their path to the switch, in
// classes: nodes behind the same child switch with equal Stream are one class. Its ElementTrees give the least sender,
// the least receiver and the best pair of any range of classes; of two classes, the later one determines the Stream.
// A change is passed up from its node until it makes no difference. A pair may also be found at a switch above its
// turn, but at a higher cost.
//
// Most messages stay below one switch. They leave the values above it too low, but never too high, since senders' keys
// grow and receivers vanish. So a change is passed up only if a sender gets cheaper than the value above. Find checks
// the winner's cost by the current keys; if it differs, Find refreshes the values above the pair, and takes the next
// winner.
//
// With a million nodes the data exceeds every cache, and consecutive messages are in different racks. So a node's key
// is stored with those of its switch, and tables lie on huge pages.
//
// Cost:   O(log classes + log switches) per change, and O(depth * log classes) if it is passed up. Memory
//         O(n + switches), times the depth if links have different rates and get faster towards the top.
// Thread-compatible; the costs must outlive it.
class PairTournament {
 public:
  explicit PairTournament(const BroadcastCosts* costs);

  static constexpr uint32_t kNoLevel = 0xffffffff;

  struct Message {
    LeastPair ends;  // the cost is with both keys, less the urgency; kAbsent: no message
    int64_t stream_ns = 0;
    int64_t urgency_ns = 0;  // part of the urgency that has been subtracted from the cost
  };

  // Replaces all keys: those of senders by `sender_keys`, those of receivers by `receiver_keys`, both by node. kAbsent
  // marks a node that is not one; a node that is both is a bug (CHECKed). Cost: O(n + switches).
  void Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys) {
    Reset(sender_keys, receiver_keys, kNoLevel, {});
  }
  // The same, but only those pairs are considered whose receiver is below a switch of that depth with `open`, by
  // vertex, and whose sender is not below that switch.
  void Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys, uint32_t level,
             const std::vector<bool>& open);

  // Returns the message of least cost; none if its cost is kAbsent.
  Message Find();
  // Reduces the cost of messages from outside to a node below that switch by `urgency_ns`. It is called before Reset.
  void SetUrgency(uint32_t switch_vertex, int64_t urgency_ns) { RoomOf(switch_vertex).urgency_ns = urgency_ns; }
  // Ends the urgency of that switch.
  void Calm(uint32_t switch_vertex);
  // Makes the node a sender with that key (kAbsent: it neither sends nor receives). A sender does not receive.
  void SetSender(uint32_t node, int64_t key);
  // Does SetSender for two nodes, at a lower cost if they have the same switch.
  void SetSenders(uint32_t a, int64_t a_key, uint32_t b, int64_t b_key);
  // Excludes pairs whose receiver is below this switch. The switch must be at the level of the last Reset.
  void Close(uint32_t switch_vertex) { RoomOf(switch_vertex).open = false; }

  // Returns the best receiver for `sender` among the nodes below its ancestor at the level of the last Reset: the one
  // with the least (Stream, Latency + key(r), r). kNobody if there is none, or no such ancestor or level.
  uint32_t HelperOf(uint32_t sender);

 private:
  // A Group is a class of a switch's elements, which is one pair of elements at the switch above.
  struct Group {
    uint32_t first = 0, last = 0;  // the elements of the class, half open
    uint32_t element = 0;          // the senders' element at the switch above
    Least told;                    // the least sender that was passed up last
  };
  // A Room holds a switch's data.
  struct Room {
    ElementRange elements;
    uint32_t groups_first = 0, groups_count = 0;
    int64_t urgency_ns = 0;
    bool open = true;
  };
  struct Place {
    uint32_t at = 0, element = 0;  // its switch
    int64_t latency_ns = 0;        // of its link
  };

  // These and the functions below take a switch's vertex.
  Room& RoomOf(uint32_t at) { return rooms_[at - costs_->node_count()]; }
  const Room& RoomOf(uint32_t at) const { return rooms_[at - costs_->node_count()]; }
  bool IsTop(uint32_t at) const { return at == costs_->node_count(); }
  bool Counts(uint32_t at) const { return level_ == kNoLevel || costs_->DepthOf(at) < level_; }
  const LeastPair& BestOf(uint32_t at) const { return elements_.SummaryOf(RoomOf(at).elements).best; }

  void BuildRoom(uint32_t vertex, const std::vector<uint32_t>& children_first, const std::vector<uint32_t>& children);
  void SetKey(const Place& place, uint32_t node, int64_t key);
  // Recomputes the switch's summaries after an element's key has changed.
  void Update(uint32_t at, uint32_t element);
  // Recomputes the winners after the switch's best pair has changed.
  void Enter(uint32_t at);
  // Writes a class's least receiver (sender) to the switch above. Returns false if nothing has changed there.
  template <bool kReceivers>
  bool PushGroup(uint32_t at, Group* group);
  // Passes a sender's key up from switch to switch while it is less than the value above.
  void Tell(uint32_t at, uint32_t element);
  // Recomputes the receivers' (senders') values of all switches above a node.
  template <bool kReceivers>
  void Refresh(uint32_t node);
  template <bool kReceivers>
  void RefreshFrom(uint32_t at, uint32_t group);
  // Returns the message by the current keys. It has no sender if the receiver no longer receives, or if Reset's level
  // excludes the pair.
  Message Weigh(uint32_t sender, uint32_t receiver) const;
  // Returns what HelperOf returns, but by values that may name a node which no longer receives.
  uint32_t ToldHelperOf(uint32_t sender) const;

  const BroadcastCosts* const costs_;
  uint32_t level_ = kNoLevel;
  LargeVector<Room> rooms_;    // by switch
  ElementTrees elements_;      // by room
  LargeVector<Group> groups_;  // by room
  LargeVector<Place> places_;  // by node
  WinnerTree winners_;         // the rooms' best pairs
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_
