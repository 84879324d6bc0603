// SPDX-License-Identifier: Apache-2.0
//
// Defines least values together with the node, or the pair of nodes, that has them.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_LEAST_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_LEAST_H_

#include <cstdint>

namespace copse::planner {

inline constexpr uint32_t kNobody = 0xffffffff;
// An absent node has this key. It is beyond all costs (BroadcastCosts: at most 2^61), and the sum of three does not
// overflow.
inline constexpr int64_t kAbsent = int64_t{5} << 59;

// Replaces `*least` and `*least_who` if (value, who) is less. The outcome is unpredictable, so the probability hint
// makes the compiler emit no branch.
template <typename Who>
[[gnu::always_inline]] inline void Take(int64_t value, Who who, int64_t* least, Who* least_who) {
  const __int128 offered = static_cast<__int128>(value) << 64 | who,
                 old = static_cast<__int128>(*least) << 64 | *least_who;
  const bool beats = __builtin_expect_with_probability(offered < old, 1, 0.5);
  *least = beats ? value : *least;
  *least_who = beats ? who : *least_who;
}

// A Least is the least value of some nodes and the node that has it; ties go to the lesser node.
struct Least {
  int64_t value = kAbsent;
  uint32_t who = kNobody;

  bool Beats(const Least& other) const { return (value < other.value) | ((value == other.value) & (who < other.who)); }
  void Take(int64_t other, uint32_t its_who) { planner::Take(other, its_who, &value, &who); }
};

// A LeastPair is the cost of a message and its pair of nodes; ties go to the least sender, then the least receiver.
struct LeastPair {
  int64_t cost_ns = kAbsent;
  uint64_t pair = ~uint64_t{0};

  static uint64_t PairOf(uint32_t sender, uint32_t receiver) { return uint64_t{sender} << 32 | receiver; }
  uint32_t sender() const { return static_cast<uint32_t>(pair >> 32); }
  uint32_t receiver() const { return static_cast<uint32_t>(pair); }
  friend bool operator==(const LeastPair&, const LeastPair&) = default;
  [[gnu::always_inline]] void Take(int64_t other_ns, uint64_t its_pair) {
    planner::Take(other_ns, its_pair, &cost_ns, &pair);
  }
  void Take(const LeastPair& other) { Take(other.cost_ns, other.pair); }
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_LEAST_H_
