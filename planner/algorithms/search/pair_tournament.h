// SPDX-License-Identifier: Apache-2.0
//
// The cheapest message of all, on a tree of a million nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/huge_pages.h"
#include "planner/algorithms/broadcast_costs.h"

namespace copse::planner {

// A PairTournament holds a key for each sender and each receiver of a cluster, and tells the pair (s, r) with the least
//
//   key(s) + Stream(s, r) + Latency(s, r) + key(r);          ties go to the least s, then the least r.
//
// A path's Stream is its slowest link's, so at the switch where it turns it is the greater of two sides. Every switch
// has its nodes in order of the slowest link from there, in classes: all that comes through one child whose own link is
// slowest is one class. A balanced tree over the classes keeps the least sender, the least receiver and the best pair
// of any range: of a pair, the side that stands later decides the Stream. A change climbs from its node to the top and
// stops where it makes no difference. Pairs that meet above the switch where their path turns are there too, but
// dearer.
//
// Most messages stay below one switch, and make what is known above it of it too little, never too much: keys of
// senders grow, and receivers vanish. So those above are told only if a sender is less than they think; the winner is
// weighed when it is asked for, and if it is no more what it was, those above it are told the truth, and there is
// another winner.
//
// With a million nodes nothing stays in the cache, and messages jump from rack to rack. So a node's key stands beside
// those of its switch, a summary is one cache line, minima are taken without branches, which nobody could predict,
// and tables lie on huge pages.
//
// Cost:   a change O(log classes), and O(log switches); O(depth * log classes) where it has to be told. Memory
//         O(n + switches), times the depth if links get faster towards the top, all with different rates.
// Thread-compatible; the costs must outlive it and have a tree.
class PairTournament {
 public:
  explicit PairTournament(const BroadcastCosts* costs);

  static constexpr uint32_t kNobody = 0xffffffff;
  static constexpr uint32_t kNoLevel = 0xffffffff;
  // Beyond all costs (BroadcastCosts: below 2^61), and three of them are below overflow.
  static constexpr int64_t kAbsent = int64_t{5} << 59;

  // What one message would cost: the key of its receiver is there, too.
  struct Message {
    int64_t cost_ns = kAbsent;  // kAbsent: there is none
    int64_t stream_ns = 0;
    int64_t urgency_ns = 0;  // by which the cost is less than it is
    uint32_t sender = kNobody, receiver = kNobody;
  };

  // A cost and whose it is.
  struct Best {
    int64_t cost_ns = kAbsent;
    uint64_t pair = ~uint64_t{0};  // sender, receiver: in the order in which ties are broken
    uint32_t sender() const { return static_cast<uint32_t>(pair >> 32); }
    uint32_t receiver() const { return static_cast<uint32_t>(pair); }
    friend bool operator==(const Best&, const Best&) = default;
    bool Beats(const Best& other) const {
      return (cost_ns < other.cost_ns) | ((cost_ns == other.cost_ns) & (pair < other.pair));
    }
  };

  // Starts anew: senders' keys are `sender_keys`, receivers' are `receiver_keys`; kAbsent: the node is none. No node is
  // both. With a level, only pairs count whose receiver is below a switch of that depth with `open`, and whose sender
  // is not below the same one. Cost: O(n + switches).
  void Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys, uint32_t level = kNoLevel,
             const std::vector<bool>* open = nullptr);

  Message Find();
  // Messages to nodes below that switch from elsewhere count as so much cheaper. Before Reset.
  void SetUrgency(uint32_t switch_vertex, int64_t urgency_ns) { rooms_[RoomOf(switch_vertex)].urgency_ns = urgency_ns; }
  // No more of that.
  void Calm(uint32_t switch_vertex);
  // A node that has the message: it sends with that key, and does not receive.
  void SetSender(uint32_t node, int64_t key);
  // Both at once, as after every message.
  void SetSenders(uint32_t a, int64_t a_key, uint32_t b, int64_t b_key);
  // No pair's receiver is below this switch, of the depth that Reset was given, any more.
  void Close(uint32_t switch_vertex) { rooms_[RoomOf(switch_vertex)].open = false; }

  // The receiver that is best for s, among those below s's ancestor at the depth that Reset was given: the least
  // (Stream, Latency + key(r), r). kNobody if there is none, or no such ancestor.
  uint32_t HelperOf(uint32_t sender);

 private:
  static constexpr uint32_t kBlock = 8;  // elements that a leaf of a balanced tree stands for
  static constexpr uint32_t kSender = 0x80000000;

  // A value and whose it is.
  struct Least {
    int64_t value = kAbsent;
    uint32_t who = kNobody;
    bool Beats(const Least& other) const {
      return (value < other.value) | ((value == other.value) & (who < other.who));
    }
  };
  // What a switch hears of through one child: of a node, which sends or receives; or of a class of the nodes below a
  // switch, which has two elements, the senders' least and, next to it, the receivers'.
  struct Element {
    int64_t key = kAbsent;
    int64_t stream_ns = 0;        // of the slowest link from here
    uint32_t who = kNobody;       // unless absent
    uint32_t kind_and_group = 0;  // kSender, and the group at this switch, as its parent hears of it
    bool sends() const { return (kind_and_group & kSender) != 0; }
    uint32_t group() const { return kind_and_group & ~kSender; }
  };
  // A class, as the switch above hears of it.
  struct Group {
    uint32_t first = 0, last = 0;  // elements below, half open
    uint32_t element = 0;          // above: the senders'
    Least told;                    // of the senders
  };
  // Of a range of elements: the least of each kind, without and with the stream.
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
    uint32_t parent = kNobody;  // a room
    uint32_t depth = 0;
    int64_t latency_ns = 0, stream_ns = 0;  // of the link above
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
  // True if the sum is another than before.
  bool SumBlock(const Room& room, uint32_t block);
  bool SumPair(const Room& room, uint32_t k);
  void SumRoom(const Room& room);
  // The least receiver (sender) of a range of a room's elements.
  template <bool kReceivers>
  Least LeastOf(const Room& room, uint32_t first, uint32_t last) const;
  // The first element from `from` on with a receiver; elements_first + elements_count if there is none.
  uint32_t FirstReceiver(const Room& room, uint32_t from) const;
  void SetKey(const Place& place, uint32_t node, int64_t key);
  // A key of an element is another: sums its switch again.
  void Update(const Room& room, uint32_t element);
  void Enter(const Room& room);
  // Tells the switch above of a class's least receiver (sender) what is true. False if that is nothing new.
  template <bool kReceivers>
  bool PushGroup(const Room& room, Group* group);
  // Tells those above of a sender, if they take the least for more.
  void Tell(uint32_t room, uint32_t element);
  // Tells all above a node what is true of receivers (senders).
  template <bool kReceivers>
  void Refresh(uint32_t node);
  template <bool kReceivers>
  void RefreshFrom(uint32_t room, uint32_t group);
  // A message by the keys of now. Without a sender if there is no such receiver, or none that counts.
  Message Weigh(uint32_t sender, uint32_t receiver) const;
  uint32_t ToldHelperOf(uint32_t sender) const;

  const BroadcastCosts* const costs_;
  uint32_t level_ = kNoLevel;
  LargeVector<Room> rooms_;        // by switch
  LargeVector<Element> elements_;  // by room, by stream
  LargeVector<Group> groups_;      // by room
  LargeVector<Summary> trees_;     // by room
  LargeVector<Place> places_;      // by node
  LargeVector<Best> winners_;      // a tournament of the rooms' best; [1] is the winner of all
  uint32_t winner_leaf_count_ = 1;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_PAIR_TOURNAMENT_H_
