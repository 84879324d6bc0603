// SPDX-License-Identifier: Apache-2.0
//
// The cheapest message of all, on a tree of a million nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_PAIR_TOURNAMENT_H_
#define COPSE_PLANNER_ALGORITHMS_PAIR_TOURNAMENT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
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
// Cost:   a change O(depth * log classes), and O(log switches); memory O(n + switches), times the depth if links get
//         faster towards the top, all with different rates. Best is O(1).
// Thread-compatible; the costs must outlive it and have a tree.
class PairTournament {
 public:
  explicit PairTournament(const BroadcastCosts* costs);

  struct Best {
    int64_t cost_ns = 0;
    uint32_t sender = kNobody;  // kNobody: there is no pair
    uint32_t receiver = kNobody;
  };
  static constexpr uint32_t kNobody = 0xffffffff;
  static constexpr uint32_t kNoLevel = 0xffffffff;

  // Starts anew: senders' keys are `sender_keys`, receivers' are `receiver_keys`; kAbsent: the node is none. With a
  // level, only pairs count whose receiver is below a switch of that depth with `open`, and whose sender is not below
  // the same one. Cost: O(n + switches).
  static constexpr int64_t kAbsent = (int64_t{1} << 62) - 1;
  void Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys, uint32_t level = kNoLevel,
             const std::vector<bool>* open = nullptr);

  Best Find() const { return winners_[1]; }
  void SetSender(uint32_t node, int64_t key);
  // A node that has the message: it sends with that key, and does not receive.
  void TurnIntoSender(uint32_t node, int64_t key);
  // Both at once, as after every message.
  void TurnIntoSender(uint32_t node, int64_t key, uint32_t sender, int64_t sender_key);
  // No pair's receiver is below this switch, of the depth that Reset was given, any more.
  void Close(uint32_t switch_vertex);

  // The receiver that is best for s, among those below s's ancestor at the depth that Reset was given: the least
  // (Stream, Latency + key(r), r). kNobody if there is none, or no such ancestor.
  uint32_t HelperOf(uint32_t sender) const;

 private:
  static constexpr uint32_t kBlock = 8;  // elements that a leaf of a balanced tree stands for

  // A value and whose it is.
  struct Least {
    int64_t value = kAbsent;
    uint32_t who = kNobody;
    friend bool operator==(const Least&, const Least&) = default;
    bool Beats(const Least& other) const {  // without a branch that cannot be predicted
      return (value < other.value) | ((value == other.value) & (who < other.who));
    }
  };
  // What a switch hears of through one child: a node, or a class of the nodes below a switch.
  struct Element {
    int64_t stream_ns = 0;  // of the slowest link from here
    uint32_t group = 0;     // at this switch, as its parent hears of it
    Least sender, receiver;
  };
  // A class, as the switch above hears of it.
  struct Group {
    uint32_t first = 0, last = 0;  // elements below, half open
    uint32_t element = 0;          // above
  };
  struct Summary {
    Least sender, sender_stream;      // without and with the stream
    Least receiver, receiver_stream;  // the same
    Best best;
  };
  struct Room {
    uint32_t elements_first = 0, elements_count = 0;
    uint32_t tree_first = 0, leaf_count = 1;  // node k of the balanced tree, from 1, is at tree_first + k - 1
    uint32_t groups_first = 0, groups_count = 0;
    bool open = true;
  };

  static bool Beats(const Best& a, const Best& b) {
    if (a.cost_ns != b.cost_ns) return a.cost_ns < b.cost_ns;
    return a.sender != b.sender ? a.sender < b.sender : a.receiver < b.receiver;
  }
  static void Offer(const Least& sender, const Least& receiver, Best* best) {
    // With an absent one the sum is beyond all costs, and below overflow.
    if (sender.value + receiver.value > best->cost_ns) return;
    const Best offered{sender.value + receiver.value, sender.who, receiver.who};
    if (Beats(offered, *best)) *best = offered;
  }

  Room& RoomOf(uint32_t vertex) { return rooms_[vertex - costs_->node_count()]; }
  const Room& RoomOf(uint32_t vertex) const { return rooms_[vertex - costs_->node_count()]; }
  bool Counts(uint32_t vertex) const { return level_ == kNoLevel || costs_->DepthOf(vertex) < level_; }

  void BuildRoom(uint32_t vertex, const std::vector<uint32_t>& children_first, const std::vector<uint32_t>& children);
  void SumBlock(const Room& room, uint32_t block);
  void SumPair(const Room& room, uint32_t k);
  void SumRoom(uint32_t vertex);
  // The least receiver (sender) of a range of a room's elements.
  template <bool kReceivers>
  Least LeastOf(const Room& room, uint32_t first, uint32_t last) const;
  // The first element from `from` on with a receiver; elements_first + elements_count if there is none.
  uint32_t FirstReceiver(const Room& room, uint32_t from) const;
  void SetKey(uint32_t node, int64_t key);
  // Tells the switch above of a class. False if that is nothing new.
  bool PushGroup(uint32_t vertex, uint32_t group);
  void Climb(uint32_t vertex, uint32_t element);
  void ClimbOn(uint32_t vertex, uint32_t group);
  void Enter(uint32_t vertex);

  const BroadcastCosts* const costs_;
  uint32_t level_ = kNoLevel;
  std::vector<Room> rooms_;           // by switch
  std::vector<Element> elements_;     // by room, by stream
  std::vector<Group> groups_;         // by room
  std::vector<Summary> trees_;        // by room
  std::vector<uint32_t> element_of_;  // by node
  std::vector<Best> winners_;         // a tournament of the rooms' best; [1] is the winner of all
  uint32_t winner_leaf_count_ = 1;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_PAIR_TOURNAMENT_H_
