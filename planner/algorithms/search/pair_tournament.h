// SPDX-License-Identifier: Apache-2.0
//
// Finds the cheapest message of all on a tree of a million nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/huge_pages.h"
#include "planner/algorithms/broadcast_costs.h"

namespace copse::planner {

// A PairTournament holds a key for each sender and each receiver of a cluster, and finds the pair (s, r) with the least
//
//   key(s) + Stream(s, r) + Latency(s, r) + key(r);          ties go to the least s, then the least r.
//
// A path's Stream is its slowest link's, so at the switch where the path turns it is the greater of two sides. Every
// switch orders the nodes below it by the slowest link from there, in classes: all nodes behind one child whose own
// link is the slowest form one class. A balanced tree over the classes keeps the least sender, the least receiver and
// the best pair of any range: of a pair, the later element determines the Stream. A change climbs from its node to the
// top and stops where it makes no difference. A switch above the turn of a pair's path has the pair too, at a higher
// cost.
//
// Most messages stay below one switch, and leave the values above it too low, never too high: senders' keys grow, and
// receivers vanish. So a change is passed up only if a sender gets cheaper than the value above; the winner is computed
// again when Find returns it, and if its cost has changed, the values above it are refreshed and there is another
// winner.
//
// With a million nodes the data exceeds every cache, and messages jump from rack to rack. So a node's key is stored
// with those of its switch, a summary is one cache line, minima are computed without (unpredictable) branches, and
// tables lie on huge pages.
//
// Cost:   O(log classes) a change, plus O(log switches); O(depth * log classes) where it is passed up. Memory
//         O(n + switches), times the depth if links get faster towards the top, all with different rates.
// Thread-compatible; the costs must outlive it and have a tree.
class PairTournament {
 public:
  explicit PairTournament(const BroadcastCosts* costs);

  static constexpr uint32_t kNobody = 0xffffffff;
  static constexpr uint32_t kNoLevel = 0xffffffff;
  // Beyond all costs (BroadcastCosts: below 2^61); the sum of three does not overflow.
  static constexpr int64_t kAbsent = int64_t{5} << 59;

  // Message is the cost of one message, including the key of its receiver.
  struct Message {
    int64_t cost_ns = kAbsent;  // kAbsent: no message
    int64_t stream_ns = 0;
    int64_t urgency_ns = 0;  // already subtracted from cost_ns
    uint32_t sender = kNobody, receiver = kNobody;
  };

  // Best is a cost and the pair that has it.
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

  // Starts anew: senders' keys are `sender_keys`, receivers' are `receiver_keys`; kAbsent marks a node that is neither.
  // No node is both. With a level, only pairs count whose receiver is below a switch of that depth with `open`, and
  // whose sender is not below the same one. Cost: O(n + switches).
  void Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys, uint32_t level = kNoLevel,
             const std::vector<bool>* open = nullptr);

  Message Find();
  // Reduces the cost of messages that enter that switch's subtree by `urgency_ns`. Called before Reset.
  void SetUrgency(uint32_t switch_vertex, int64_t urgency_ns) { rooms_[RoomOf(switch_vertex)].urgency_ns = urgency_ns; }
  // Ends the urgency of that switch.
  void Calm(uint32_t switch_vertex);
  // Makes the node a sender with that key; a sender does not receive.
  void SetSender(uint32_t node, int64_t key);
  // Sets two senders at once, which is cheaper after a message.
  void SetSenders(uint32_t a, int64_t a_key, uint32_t b, int64_t b_key);
  // Excludes pairs whose receiver is below this switch, which has the depth that Reset was given.
  void Close(uint32_t switch_vertex) { rooms_[RoomOf(switch_vertex)].open = false; }

  // Returns the best receiver for s among the nodes below s's ancestor at the depth that Reset was given: the least
  // (Stream, Latency + key(r), r). kNobody if there is none, or no such ancestor.
  uint32_t HelperOf(uint32_t sender);

 private:
  static constexpr uint32_t kBlock = 8;  // elements per leaf of a balanced tree
  static constexpr uint32_t kSender = 0x80000000;

  // Least is a value and the node that has it.
  struct Least {
    int64_t value = kAbsent;
    uint32_t who = kNobody;
    bool Beats(const Least& other) const {
      return (value < other.value) | ((value == other.value) & (who < other.who));
    }
  };
  // Element is the view that a switch has of one child: of a node, which sends or receives; or of a class of the nodes
  // below a child switch, which has two elements, the least sender and, next to it, the least receiver.
  struct Element {
    int64_t key = kAbsent;
    int64_t stream_ns = 0;        // slowest link from this switch
    uint32_t who = kNobody;       // kNobody if absent
    uint32_t kind_and_group = 0;  // kSender, and the element's group at this switch
    bool sends() const { return (kind_and_group & kSender) != 0; }
    uint32_t group() const { return kind_and_group & ~kSender; }
  };
  // Group is a class of a switch's elements, shown to the switch above as one pair of elements.
  struct Group {
    uint32_t first = 0, last = 0;  // elements below, half open
    uint32_t element = 0;          // the senders' element at the switch above
    Least told;                    // the least sender, as passed up last
  };
  // Summary has the least sender and receiver of a range of elements, without and with the stream, and the best pair.
  struct alignas(64) Summary {
    int64_t sender = kAbsent, sender_stream = kAbsent, receiver = kAbsent, receiver_stream = kAbsent;
    uint32_t sender_who = kNobody, sender_stream_who = kNobody, receiver_who = kNobody, receiver_stream_who = kNobody;
    Best best;
    friend bool operator==(const Summary&, const Summary&) = default;
  };
  struct Room {
    uint32_t elements_first = 0, elements_count = 0;
    uint32_t tree_first = 0, leaf_count = 1;  // node k of the balanced tree, from 1, is at tree_first + k - 1
    uint32_t groups_first = 0, groups_count = 0;
    uint32_t parent = kNobody;  // index in rooms_
    uint32_t depth = 0;
    int64_t latency_ns = 0, stream_ns = 0;  // of the link to the parent
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
  // Returns true if the sum has changed.
  bool SumBlock(const Room& room, uint32_t block);
  bool SumPair(const Room& room, uint32_t k);
  void SumRoom(const Room& room);
  // Returns the least receiver (sender) of a range of a room's elements.
  template <bool kReceivers>
  Least LeastOf(const Room& room, uint32_t first, uint32_t last) const;
  // Returns the first element from `from` on with a receiver; elements_first + elements_count if there is none.
  uint32_t FirstReceiver(const Room& room, uint32_t from) const;
  void SetKey(const Place& place, uint32_t node, int64_t key);
  // Sums the room again after an element's key has changed.
  void Update(const Room& room, uint32_t element);
  void Enter(const Room& room);
  // Writes a class's least receiver (sender) to the switch above. Returns false if nothing has changed there.
  template <bool kReceivers>
  bool PushGroup(const Room& room, Group* group);
  // Passes a sender's key up as long as it is less than the value above.
  void Tell(uint32_t room, uint32_t element);
  // Recomputes the receivers' (senders') values of all switches above a node.
  template <bool kReceivers>
  void Refresh(uint32_t node);
  template <bool kReceivers>
  void RefreshFrom(uint32_t room, uint32_t group);
  // Computes the message by the current keys. It has no sender if the receiver no longer receives, or the pair does not
  // count.
  Message Weigh(uint32_t sender, uint32_t receiver) const;
  uint32_t ToldHelperOf(uint32_t sender) const;

  const BroadcastCosts* const costs_;
  uint32_t level_ = kNoLevel;
  LargeVector<Room> rooms_;        // by switch
  LargeVector<Element> elements_;  // by room, by stream
  LargeVector<Group> groups_;      // by room
  LargeVector<Summary> trees_;     // by room
  LargeVector<Place> places_;      // by node
  LargeVector<Best> winners_;      // a tournament of the rooms' best; [1] is the overall winner
  uint32_t winner_leaf_count_ = 1;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_
