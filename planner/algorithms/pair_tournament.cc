// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/pair_tournament.h"

#include <algorithm>

#include "base/check.h"
#include "planner/topology/topology.h"

namespace copse::planner {
namespace {

uint32_t PowerOfTwo(uint32_t least) {
  uint32_t power = 1;
  while (power < least) power *= 2;
  return power;
}

constexpr int64_t kAbsent = PairTournament::kAbsent;

// What is absent stays so however far away it is.
int64_t Further(int64_t value, int64_t by) { return value == kAbsent ? kAbsent : value + by; }

}  // namespace

PairTournament::PairTournament(const BroadcastCosts* costs)
    : costs_(costs), rooms_(costs->vertex_count() - costs->node_count()), element_of_(costs->node_count()) {
  CHECK(costs->has_tree());
  const uint32_t n = costs_->node_count(), count = costs_->vertex_count();
  std::vector<uint32_t> first(rooms_.size() + 1, 0), children(count - 1);
  for (uint32_t v = 0; v < count; ++v) {
    if (costs_->ParentOf(v) != topology::kNoParent) ++first[costs_->ParentOf(v) - n + 1];
  }
  for (size_t i = 0; i + 1 < first.size(); ++i) first[i + 1] += first[i];
  std::vector<uint32_t> filled(first.begin(), first.end() - 1);
  for (uint32_t v = 0; v < count; ++v) {
    if (costs_->ParentOf(v) != topology::kNoParent) children[filled[costs_->ParentOf(v) - n]++] = v;
  }
  elements_.reserve(count);
  for (uint32_t v = count; v-- > n;) BuildRoom(v, first, children);  // children before their parents
  winner_leaf_count_ = PowerOfTwo(static_cast<uint32_t>(rooms_.size()));
  winners_.resize(size_t{2} * winner_leaf_count_);
}

void PairTournament::BuildRoom(uint32_t vertex, const std::vector<uint32_t>& children_first,
                               const std::vector<uint32_t>& children) {
  const uint32_t n = costs_->node_count();
  Room& room = RoomOf(vertex);
  struct Heard {
    int64_t stream_ns;
    bool is_node;
    uint32_t id;  // of the node, or of the group
  };
  std::vector<Heard> heard;
  for (uint32_t i = children_first[vertex - n]; i < children_first[vertex - n + 1]; ++i) {
    const uint32_t child = children[i];
    if (child < n) {
      heard.push_back({costs_->LinkStream(child), true, child});
      continue;
    }
    const Room& below = RoomOf(child);
    for (uint32_t g = below.groups_first; g < below.groups_first + below.groups_count; ++g) {
      heard.push_back({std::max(elements_[groups_[g].first].stream_ns, costs_->LinkStream(child)), false, g});
    }
  }
  std::stable_sort(heard.begin(), heard.end(),
                   [](const Heard& a, const Heard& b) { return a.stream_ns < b.stream_ns; });

  room.elements_first = static_cast<uint32_t>(elements_.size());
  room.elements_count = static_cast<uint32_t>(heard.size());
  room.groups_first = static_cast<uint32_t>(groups_.size());
  const int64_t own_stream_ns = costs_->LinkStream(vertex);
  for (uint32_t i = 0; i < heard.size(); ++i) {
    const uint32_t element = room.elements_first + i;
    (heard[i].is_node ? element_of_[heard[i].id] : groups_[heard[i].id].element) = element;
    // Slower than the own link, or not the same as the one before: a class of its own.
    const bool joins = i > 0 && (heard[i].stream_ns <= own_stream_ns || heard[i].stream_ns == heard[i - 1].stream_ns);
    if (!joins) groups_.push_back({element, element, 0});
    groups_.back().last = element + 1;
    elements_.push_back({heard[i].stream_ns, static_cast<uint32_t>(groups_.size() - 1), {}, {}});
  }
  room.groups_count = static_cast<uint32_t>(groups_.size()) - room.groups_first;
  room.leaf_count = PowerOfTwo((room.elements_count + kBlock - 1) / kBlock);
  room.tree_first = static_cast<uint32_t>(trees_.size());
  trees_.resize(trees_.size() + 2 * room.leaf_count - 1);
}

void PairTournament::SumBlock(const Room& room, uint32_t block) {
  Summary sum;
  sum.best.cost_ns = kAbsent;
  const uint32_t first = room.elements_first + block * kBlock;
  const uint32_t last = std::min(first + kBlock, room.elements_first + room.elements_count);
  for (uint32_t e = first; e < last; ++e) {
    const Element& element = elements_[e];
    if (element.sender.value != kAbsent) {
      const Least sender_stream{element.sender.value + element.stream_ns, element.sender.who};
      Offer(sender_stream, sum.receiver, &sum.best);
      if (element.sender.Beats(sum.sender)) sum.sender = element.sender;
      if (sender_stream.Beats(sum.sender_stream)) sum.sender_stream = sender_stream;
    }
    if (element.receiver.value != kAbsent) {
      const Least receiver_stream{element.receiver.value + element.stream_ns, element.receiver.who};
      Offer(sum.sender, receiver_stream, &sum.best);
      if (element.receiver.Beats(sum.receiver)) sum.receiver = element.receiver;
      if (receiver_stream.Beats(sum.receiver_stream)) sum.receiver_stream = receiver_stream;
    }
  }
  trees_[room.tree_first + room.leaf_count + block - 1] = sum;
}

void PairTournament::SumPair(const Room& room, uint32_t k) {
  const Summary& left = trees_[room.tree_first + 2 * k - 1];
  const Summary& right = trees_[room.tree_first + 2 * k];
  Summary& sum = trees_[room.tree_first + k - 1];
  const auto lesser = [](const Least& a, const Least& b) -> const Least& { return b.Beats(a) ? b : a; };
  sum.sender = lesser(left.sender, right.sender);
  sum.sender_stream = lesser(left.sender_stream, right.sender_stream);
  sum.receiver = lesser(left.receiver, right.receiver);
  sum.receiver_stream = lesser(left.receiver_stream, right.receiver_stream);
  sum.best = Beats(right.best, left.best) ? right.best : left.best;
  Offer(left.sender, right.receiver_stream, &sum.best);
  Offer(right.sender_stream, left.receiver, &sum.best);
}

void PairTournament::SumRoom(uint32_t vertex) {
  const Room& room = RoomOf(vertex);
  for (uint32_t block = 0; block < room.leaf_count; ++block) SumBlock(room, block);
  for (uint32_t k = room.leaf_count; k-- > 1;) SumPair(room, k);
}

template <bool kReceivers>
PairTournament::Least PairTournament::LeastOf(const Room& room, uint32_t first, uint32_t last) const {
  Least least;
  const auto offer = [&least](const Least& other) {
    if (other.Beats(least)) least = other;
  };
  const uint32_t base = room.elements_first;
  uint32_t left = (first - base + kBlock - 1) / kBlock, right = (last - base) / kBlock;  // whole blocks
  if (last == base + room.elements_count) right = room.leaf_count;                       // the last may be short
  if (left > right) left = right;
  for (uint32_t e = first; e < std::min(last, base + left * kBlock); ++e) {
    offer(kReceivers ? elements_[e].receiver : elements_[e].sender);
  }
  for (uint32_t e = std::max(first, base + right * kBlock); e < last; ++e) {
    offer(kReceivers ? elements_[e].receiver : elements_[e].sender);
  }
  for (left += room.leaf_count, right += room.leaf_count; left < right; left /= 2, right /= 2) {
    const auto at = [&](uint32_t k) -> const Least& {
      const Summary& sum = trees_[room.tree_first + k - 1];
      return kReceivers ? sum.receiver : sum.sender;
    };
    if (left % 2 == 1) offer(at(left++));
    if (right % 2 == 1) offer(at(--right));
  }
  return least;
}

uint32_t PairTournament::FirstReceiver(const Room& room, uint32_t from) const {
  const uint32_t base = room.elements_first, end = base + room.elements_count;
  const auto scan = [&](uint32_t first, uint32_t last) {
    for (uint32_t e = first; e < last; ++e) {
      if (elements_[e].receiver.value != kAbsent) return e;
    }
    return end;
  };
  if (from >= end) return end;
  const uint32_t block = (from - base) / kBlock;
  const uint32_t found = scan(from, std::min(end, base + (block + 1) * kBlock));
  if (found != end) return found;
  // Up while there is nothing to the right, then down to its leftmost.
  const auto has = [&](uint32_t k) { return trees_[room.tree_first + k - 1].receiver.value != kAbsent; };
  uint32_t k = room.leaf_count + block;
  while (k > 1 && (k % 2 == 1 || !has(k + 1))) k /= 2;
  if (k <= 1) return end;
  for (++k; k < room.leaf_count;) k = has(2 * k) ? 2 * k : 2 * k + 1;
  const uint32_t first = base + (k - room.leaf_count) * kBlock;
  return scan(first, std::min(end, first + kBlock));
}

bool PairTournament::PushGroup(uint32_t vertex, uint32_t group) {
  const Room& room = RoomOf(vertex);
  const Group& item = groups_[group];
  Least sender, receiver;
  if (room.groups_count == 1) {  // as nearly always
    const Summary& sum = trees_[room.tree_first];
    sender = sum.sender;
    receiver = sum.receiver;
  } else {
    sender = LeastOf<false>(room, item.first, item.last);
    receiver = LeastOf<true>(room, item.first, item.last);
  }
  if (!room.open) receiver = {};
  sender.value = Further(sender.value, costs_->LinkLatency(vertex));
  receiver.value = Further(receiver.value, costs_->LinkLatency(vertex));
  Element& above = elements_[item.element];
  const bool changed = !(above.sender == sender) || !(above.receiver == receiver);
  above.sender = sender;
  above.receiver = receiver;
  return changed;
}

void PairTournament::Enter(uint32_t vertex) {
  const uint32_t place = vertex - costs_->node_count();
  Best best = trees_[rooms_[place].tree_first].best;
  if (!Counts(vertex)) best = {kAbsent, kNobody, kNobody};
  uint32_t k = winner_leaf_count_ + place;
  const auto same = [](const Best& a, const Best& b) {
    return a.cost_ns == b.cost_ns && a.sender == b.sender && a.receiver == b.receiver;
  };
  if (same(winners_[k], best)) return;
  winners_[k] = best;
  for (k /= 2; k >= 1; k /= 2) {
    const Best& winner = Beats(winners_[2 * k + 1], winners_[2 * k]) ? winners_[2 * k + 1] : winners_[2 * k];
    if (same(winners_[k], winner)) return;
    winners_[k] = winner;
  }
}

void PairTournament::Climb(uint32_t vertex, uint32_t element) {
  const Room& room = RoomOf(vertex);
  const uint32_t block = (element - room.elements_first) / kBlock;
  SumBlock(room, block);
  for (uint32_t k = (room.leaf_count + block) / 2; k >= 1; k /= 2) SumPair(room, k);
  Enter(vertex);
  ClimbOn(vertex, elements_[element].group);
}

void PairTournament::ClimbOn(uint32_t vertex, uint32_t group) {
  if (costs_->ParentOf(vertex) == topology::kNoParent) return;
  if (PushGroup(vertex, group)) Climb(costs_->ParentOf(vertex), groups_[group].element);
}

void PairTournament::Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys,
                           uint32_t level, const std::vector<bool>* open) {
  const uint32_t n = costs_->node_count(), count = costs_->vertex_count();
  level_ = level;
  for (uint32_t v = 0; v < n; ++v) {
    Element& element = elements_[element_of_[v]];
    element.sender = {Further(sender_keys[v], costs_->LinkLatency(v)), v};
    const bool above_level = level != kNoLevel && costs_->DepthOf(costs_->ParentOf(v)) < level;
    element.receiver = {above_level ? kAbsent : Further(receiver_keys[v], costs_->LinkLatency(v)), v};
    if (element.sender.value == kAbsent) element.sender = {};
    if (element.receiver.value == kAbsent) element.receiver = {};
  }
  for (uint32_t v = count; v-- > n;) {
    Room& room = RoomOf(v);
    room.open = level == kNoLevel || costs_->DepthOf(v) != level || (*open)[v];
    SumRoom(v);
    for (uint32_t g = 0; costs_->ParentOf(v) != topology::kNoParent && g < room.groups_count; ++g) {
      PushGroup(v, room.groups_first + g);
    }
  }
  std::fill(winners_.begin(), winners_.end(), Best{kAbsent, kNobody, kNobody});
  for (uint32_t v = n; v < count; ++v) {
    if (Counts(v)) winners_[winner_leaf_count_ + v - n] = trees_[RoomOf(v).tree_first].best;
  }
  for (uint32_t k = winner_leaf_count_; k-- > 1;) {
    winners_[k] = Beats(winners_[2 * k + 1], winners_[2 * k]) ? winners_[2 * k + 1] : winners_[2 * k];
  }
}

void PairTournament::SetKey(uint32_t node, int64_t key) {
  elements_[element_of_[node]].sender = key == kAbsent ? Least{} : Least{key + costs_->LinkLatency(node), node};
}

void PairTournament::SetSender(uint32_t node, int64_t key) {
  SetKey(node, key);
  Climb(costs_->ParentOf(node), element_of_[node]);
}

void PairTournament::TurnIntoSender(uint32_t node, int64_t key) {
  elements_[element_of_[node]].receiver = {};
  SetSender(node, key);
}

void PairTournament::TurnIntoSender(uint32_t node, int64_t key, uint32_t sender, int64_t sender_key) {
  const uint32_t vertex = costs_->ParentOf(node);
  if (vertex != costs_->ParentOf(sender)) {
    TurnIntoSender(node, key);
    SetSender(sender, sender_key);
    return;
  }
  // Most messages stay below one switch: then it is summed once.
  const Room& room = RoomOf(vertex);
  elements_[element_of_[node]].receiver = {};
  SetKey(node, key);
  SetKey(sender, sender_key);
  uint32_t a = (element_of_[node] - room.elements_first) / kBlock;
  uint32_t b = (element_of_[sender] - room.elements_first) / kBlock;
  SumBlock(room, a);
  if (b != a) SumBlock(room, b);
  for (a = (a + room.leaf_count) / 2, b = (b + room.leaf_count) / 2; a >= 1; a /= 2, b /= 2) {
    SumPair(room, a);
    if (b != a) SumPair(room, b);
  }
  Enter(vertex);
  const uint32_t group = elements_[element_of_[node]].group, other = elements_[element_of_[sender]].group;
  ClimbOn(vertex, group);
  if (other != group) ClimbOn(vertex, other);
}

void PairTournament::Close(uint32_t switch_vertex) {
  Room& room = RoomOf(switch_vertex);
  room.open = false;
  for (uint32_t g = 0; g < room.groups_count; ++g) ClimbOn(switch_vertex, room.groups_first + g);
}

uint32_t PairTournament::HelperOf(uint32_t sender) const {
  uint32_t vertex = costs_->ParentOf(sender);
  if (level_ == kNoLevel || costs_->DepthOf(vertex) < level_) return kNobody;
  int64_t latency_ns = costs_->LinkLatency(sender), stream_ns = costs_->LinkStream(sender);
  int64_t best_stream_ns = kAbsent;
  Least best;
  for (;;) {
    const Room& room = RoomOf(vertex);
    const auto begin = elements_.begin() + room.elements_first, end = begin + room.elements_count;
    const auto after = [&](int64_t stream) {
      return static_cast<uint32_t>(
          std::upper_bound(begin, end, stream, [](int64_t s, const Element& e) { return s < e.stream_ns; }) -
          elements_.begin());
    };
    // Those that the own side's slowest link decides are all alike; else the least stream there is.
    uint32_t last = after(stream_ns);
    int64_t here_ns = stream_ns;
    Least least = LeastOf<true>(room, room.elements_first, last);
    if (least.value == kAbsent) {
      const uint32_t first = FirstReceiver(room, last);
      if (first < room.elements_first + room.elements_count) {
        here_ns = elements_[first].stream_ns;
        last = after(here_ns);
        least = LeastOf<true>(room, first, last);
      }
    }
    if (least.value != kAbsent) {
      least.value += latency_ns;
      if (here_ns < best_stream_ns || (here_ns == best_stream_ns && least.Beats(best))) {
        best_stream_ns = here_ns;
        best = least;
      }
    }
    if (costs_->DepthOf(vertex) == level_) return best.who;
    latency_ns += costs_->LinkLatency(vertex);
    stream_ns = std::max(stream_ns, costs_->LinkStream(vertex));
    vertex = costs_->ParentOf(vertex);
  }
}

}  // namespace copse::planner
