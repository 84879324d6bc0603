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

namespace copse::planner {

// A PairTournament holds a key for each sender and each receiver of a cluster, and finds the pair (s, r) with the least
//
//   key(s) + Stream(s, r) + Latency(s, r) + key(r);          ties go to the least s, then the least r.
//
// A path leads up to a switch, where it turns, and down again. Its Stream is that of its slowest link, and so the
// greater one of its two sides. Every switch sorts the nodes below it by the Stream of their path to the switch, in
// classes: nodes behind the same child switch with equal Stream are one class. A balanced tree over the classes has the
// least sender, the least receiver and the best pair of any range; of two classes, the later one determines the Stream.
// A change is passed up from its node until it makes no difference. A pair may also be found at a switch above its
// turn, but at a higher cost.
//
// Most messages stay below one switch. They leave the values above it too low, but never too high, since senders' keys
// grow and receivers vanish. So a change is passed up only if a sender gets cheaper than the value above. Find checks
// the winner's cost by the current keys; if it differs, Find refreshes the values above the pair, and takes the next
// winner.
//
// With a million nodes the data exceeds every cache, and consecutive messages are in different racks. So a node's key
// is stored with those of its switch, a summary is one cache line, minima are computed without (unpredictable)
// branches, and tables lie on huge pages.
//
// Cost:   O(log classes + log switches) per change, and O(depth * log classes) if it is passed up. Memory
//         O(n + switches), times the depth if links have different rates and get faster towards the top.
// Thread-compatible; the costs must outlive it.
class PairTournament {
 public:
  explicit PairTournament(const BroadcastCosts* costs);

  static constexpr uint32_t kNobody = 0xffffffff;
  static constexpr uint32_t kNoLevel = 0xffffffff;
  // An absent node has this key. It is beyond all costs (BroadcastCosts: at most 2^61), and the sum of three does not
  // overflow.
  static constexpr int64_t kAbsent = int64_t{5} << 59;

  // A Message is a pair of sender and receiver with the cost of a message between them.
  struct Message {
    int64_t cost_ns = kAbsent;  // cost with both keys, less the urgency; kAbsent: no message
    int64_t stream_ns = 0;
    int64_t urgency_ns = 0;  // part of the urgency that has been subtracted from cost_ns
    uint32_t sender = kNobody, receiver = kNobody;
  };

  // A Best is the cost of a message and its pair of nodes.
  struct Best {
    int64_t cost_ns = kAbsent;
    uint64_t pair = ~uint64_t{0};  // sender, receiver: ties go to the lesser
    uint32_t sender() const { return static_cast<uint32_t>(pair >> 32); }
    uint32_t receiver() const { return static_cast<uint32_t>(pair); }
    friend bool operator==(const Best&, const Best&) = default;
    bool Beats(const Best& other) const {
      return (cost_ns < other.cost_ns) | ((cost_ns == other.cost_ns) & (pair < other.pair));
    }
  };

  // Replaces all keys: those of senders by `sender_keys`, those of receivers by `receiver_keys`, both by node. kAbsent
  // marks a node that is not one; a node that is both is a bug (CHECKed). With a level, only those pairs are considered
  // whose receiver is below a switch of that depth with `open`, by vertex, and whose sender is not below that switch.
  // Cost: O(n + switches).
  void Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys, uint32_t level = kNoLevel,
             const std::vector<bool>* open = nullptr);

  // Returns the message of least cost; none if cost_ns is kAbsent.
  Message Find();
  // Reduces the cost of messages from outside to a node below that switch by `urgency_ns`. It is called before Reset.
  void SetUrgency(uint32_t switch_vertex, int64_t urgency_ns) { rooms_[RoomOf(switch_vertex)].urgency_ns = urgency_ns; }
  // Ends the urgency of that switch.
  void Calm(uint32_t switch_vertex);
  // Makes the node a sender with that key (kAbsent: it neither sends nor receives). A sender does not receive.
  void SetSender(uint32_t node, int64_t key);
  // Does SetSender for two nodes, at a lower cost if they have the same switch.
  void SetSenders(uint32_t a, int64_t a_key, uint32_t b, int64_t b_key);
  // Excludes pairs whose receiver is below this switch. The switch must be at the level of the last Reset.
  void Close(uint32_t switch_vertex) { rooms_[RoomOf(switch_vertex)].open = false; }

  // Returns the best receiver for `sender` among the nodes below its ancestor at the level of the last Reset: the one
  // with the least (Stream, Latency + key(r), r). kNobody if there is none, or no such ancestor or level.
  uint32_t HelperOf(uint32_t sender);

 private:
  static constexpr uint32_t kBlock = 8;  // elements per leaf of a balanced tree
  static constexpr uint32_t kSender = 0x80000000;

  // A Least is the least value of some nodes and the node that has it.
  struct Least {
    int64_t value = kAbsent;
    uint32_t who = kNobody;
    bool Beats(const Least& other) const {
      return (value < other.value) | ((value == other.value) & (who < other.who));
    }
  };
  // An Element is an entry of a switch: a child that is a node, which sends or receives; or one half of a class of
  // nodes below a child switch. Such a class has two elements, the least sender and, next to it, the least receiver.
  struct Element {
    int64_t key = kAbsent;
    int64_t stream_ns = 0;        // Stream of the path to this switch
    uint32_t who = kNobody;       // kNobody if absent
    uint32_t kind_and_group = 0;  // kSender, and the element's group at this switch
    bool sends() const { return (kind_and_group & kSender) != 0; }
    uint32_t group() const { return kind_and_group & ~kSender; }
  };
  // A Group is a class of a switch's elements, which is one pair of elements at the switch above.
  struct Group {
    uint32_t first = 0, last = 0;  // the elements of the class, half open
    uint32_t element = 0;          // the senders' element at the switch above
    Least told;                    // the least sender that was passed up last
  };
  // A Summary has the least sender and receiver of a range of elements, without and with their stream_ns, and the best
  // pair.
  struct alignas(64) Summary {
    int64_t sender = kAbsent, sender_stream = kAbsent, receiver = kAbsent, receiver_stream = kAbsent;
    uint32_t sender_who = kNobody, sender_stream_who = kNobody, receiver_who = kNobody, receiver_stream_who = kNobody;
    Best best;
    friend bool operator==(const Summary&, const Summary&) = default;
  };
  // A Room holds a switch's data.
  struct Room {
    uint32_t elements_first = 0, elements_count = 0;
    uint32_t tree_first = 0, leaf_count = 1;  // node k of the balanced tree, from 1, is at tree_first + k - 1
    uint32_t groups_first = 0, groups_count = 0;
    uint32_t parent = kNobody;  // index in rooms_
    uint32_t depth = 0;
    int64_t latency_ns = 0, stream_ns = 0;  // the link to the parent
    int64_t urgency_ns = 0;
    bool open = true;
  };
  struct Place {
    uint32_t room = 0, element = 0;
    int64_t latency_ns = 0;
  };
  bool Counts(const Room& room) const { return level_ == kNoLevel || room.depth < level_; }
  uint32_t RoomOf(uint32_t switch_vertex) const { return switch_vertex - costs_->node_count(); }

  void BuildRoom(uint32_t vertex, const std::vector<uint32_t>& children_first, const std::vector<uint32_t>& children);
  // Recompute the summary of a block of elements, or of node k of the balanced tree. Return true if it has changed.
  bool SumBlock(const Room& room, uint32_t block);
  bool SumPair(const Room& room, uint32_t k);
  void SumRoom(const Room& room);
  // Returns the least receiver (sender) of a range of a room's elements.
  template <bool kReceivers>
  Least LeastOf(const Room& room, uint32_t first, uint32_t last) const;
  // Returns the first element from `from` on with a receiver; elements_first + elements_count if there is none.
  uint32_t FirstReceiver(const Room& room, uint32_t from) const;
  void SetKey(const Place& place, uint32_t node, int64_t key);
  // Recomputes the room's summaries after an element's key has changed.
  void Update(const Room& room, uint32_t element);
  // Recomputes the winners after the room's best pair has changed.
  void Enter(const Room& room);
  // Writes a class's least receiver (sender) to the switch above. Returns false if nothing has changed there.
  template <bool kReceivers>
  bool PushGroup(const Room& room, Group* group);
  // Passes a sender's key up from switch to switch while it is less than the value above.
  void Tell(uint32_t room, uint32_t element);
  // Recomputes the receivers' (senders') values of all switches above a node.
  template <bool kReceivers>
  void Refresh(uint32_t node);
  template <bool kReceivers>
  void RefreshFrom(uint32_t room, uint32_t group);
  // Returns the message by the current keys. It has no sender if the receiver no longer receives, or if Reset's level
  // excludes the pair.
  Message Weigh(uint32_t sender, uint32_t receiver) const;
  // Returns what HelperOf returns, but by values that may name a node which no longer receives.
  uint32_t ToldHelperOf(uint32_t sender) const;

  const BroadcastCosts* const costs_;
  uint32_t level_ = kNoLevel;
  LargeVector<Room> rooms_;        // by switch
  LargeVector<Element> elements_;  // by room, by stream_ns
  LargeVector<Group> groups_;      // by room
  LargeVector<Summary> trees_;     // by room
  LargeVector<Place> places_;      // by node
  LargeVector<Best> winners_;      // balanced tree over the rooms' best pairs; [1] is the best of all
  uint32_t winner_leaf_count_ = 1;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_
