// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/pair_tournament.h"

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

// Returns value + by, or kAbsent if the value is absent.
int64_t Further(int64_t value, int64_t by) { return value >= kAbsent ? kAbsent : value + by; }

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

[[gnu::always_inline]] inline void Take(int64_t cost_ns, uint64_t pair, PairTournament::Best* best) {
  Take(cost_ns, pair, &best->cost_ns, &best->pair);
}

uint64_t PairOf(uint32_t sender, uint32_t receiver) { return uint64_t{sender} << 32 | receiver; }

}  // namespace

PairTournament::PairTournament(const BroadcastCosts* costs)
    : costs_(costs), rooms_(costs->vertex_count() - costs->node_count()), places_(costs->node_count()) {
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
  elements_.reserve(count + rooms_.size());
  for (uint32_t v = count; v-- > n;) BuildRoom(v, first, children);  // children before their parents
  winner_leaf_count_ = PowerOfTwo(static_cast<uint32_t>(rooms_.size()));
  winners_.resize(size_t{2} * winner_leaf_count_);
}

void PairTournament::BuildRoom(uint32_t vertex, const std::vector<uint32_t>& children_first,
                               const std::vector<uint32_t>& children) {
  const uint32_t n = costs_->node_count();
  Room& room = rooms_[RoomOf(vertex)];
  room.depth = costs_->DepthOf(vertex);
  if (costs_->ParentOf(vertex) != topology::kNoParent) {
    room.parent = RoomOf(costs_->ParentOf(vertex));
    room.latency_ns = costs_->LinkLatency(vertex);
    room.stream_ns = costs_->LinkStream(vertex);
  }
  struct Heard {
    int64_t stream_ns;
    bool is_node;
    uint32_t id;  // node, or group
  };
  std::vector<Heard> heard;
  for (uint32_t i = children_first[vertex - n]; i < children_first[vertex - n + 1]; ++i) {
    const uint32_t child = children[i];
    if (child < n) {
      heard.push_back({costs_->LinkStream(child), true, child});
      continue;
    }
    const Room& below = rooms_[RoomOf(child)];
    for (uint32_t g = below.groups_first; g < below.groups_first + below.groups_count; ++g) {
      heard.push_back({std::max(elements_[groups_[g].first].stream_ns, costs_->LinkStream(child)), false, g});
    }
  }
  std::stable_sort(heard.begin(), heard.end(),
                   [](const Heard& a, const Heard& b) { return a.stream_ns < b.stream_ns; });

  room.elements_first = static_cast<uint32_t>(elements_.size());
  room.groups_first = static_cast<uint32_t>(groups_.size());
  for (uint32_t i = 0; i < heard.size(); ++i) {
    const uint32_t element = static_cast<uint32_t>(elements_.size());
    // An element that is slower than the switch's own link, and differs from the element before, begins a new class.
    const bool joins = i > 0 && (heard[i].stream_ns <= room.stream_ns || heard[i].stream_ns == heard[i - 1].stream_ns);
    if (!joins) groups_.push_back({element, element, 0});
    const uint32_t group = static_cast<uint32_t>(groups_.size() - 1);
    if (heard[i].is_node) {
      places_[heard[i].id] = {RoomOf(vertex), element, costs_->LinkLatency(heard[i].id)};
      elements_.push_back({kAbsent, heard[i].stream_ns, kNobody, group});
    } else {
      groups_[heard[i].id].element = element;
      elements_.push_back({kAbsent, heard[i].stream_ns, kNobody, group | kSender});
      elements_.push_back({kAbsent, heard[i].stream_ns, kNobody, group});
    }
    groups_.back().last = static_cast<uint32_t>(elements_.size());
  }
  room.elements_count = static_cast<uint32_t>(elements_.size()) - room.elements_first;
  room.groups_count = static_cast<uint32_t>(groups_.size()) - room.groups_first;
  room.leaf_count = PowerOfTwo((room.elements_count + kBlock - 1) / kBlock);
  room.tree_first = static_cast<uint32_t>(trees_.size());
  trees_.resize(trees_.size() + 2 * room.leaf_count - 1);
}

bool PairTournament::SumBlock(const Room& room, uint32_t block) {
  Summary sum;
  const uint32_t first = room.elements_first + block * kBlock;
  const uint32_t last = std::min(first + kBlock, room.elements_first + room.elements_count);
  for (uint32_t e = first; e < last; ++e) {
    // An element that sends does not receive, and is absent as a receiver.
    const Element& element = elements_[e];
    const int64_t sends = -static_cast<int64_t>(element.kind_and_group >> 31);
    const int64_t sender = kAbsent ^ ((kAbsent ^ element.key) & sends);
    const int64_t receiver = kAbsent ^ ((kAbsent ^ element.key) & ~sends);
    // Pairs the element with those before it in the block.
    Take(sender + element.stream_ns + sum.receiver, PairOf(element.who, sum.receiver_who), &sum.best);
    Take(receiver + element.stream_ns + sum.sender, PairOf(sum.sender_who, element.who), &sum.best);
    Take(sender, element.who, &sum.sender, &sum.sender_who);
    Take(receiver, element.who, &sum.receiver, &sum.receiver_who);
    Take(sender + element.stream_ns, element.who, &sum.sender_stream, &sum.sender_stream_who);
    Take(receiver + element.stream_ns, element.who, &sum.receiver_stream, &sum.receiver_stream_who);
  }
  Summary& old = trees_[room.tree_first + room.leaf_count + block - 1];
  if (sum == old) return false;
  old = sum;
  return true;
}

bool PairTournament::SumPair(const Room& room, uint32_t k) {
  const Summary& left = trees_[room.tree_first + 2 * k - 1];
  const Summary& right = trees_[room.tree_first + 2 * k];
  Summary sum = left;
  Take(right.best.cost_ns, right.best.pair, &sum.best);
  Take(left.sender + right.receiver_stream, PairOf(left.sender_who, right.receiver_stream_who), &sum.best);
  Take(right.sender_stream + left.receiver, PairOf(right.sender_stream_who, left.receiver_who), &sum.best);
  Take(right.sender, right.sender_who, &sum.sender, &sum.sender_who);
  Take(right.sender_stream, right.sender_stream_who, &sum.sender_stream, &sum.sender_stream_who);
  Take(right.receiver, right.receiver_who, &sum.receiver, &sum.receiver_who);
  Take(right.receiver_stream, right.receiver_stream_who, &sum.receiver_stream, &sum.receiver_stream_who);
  Summary& old = trees_[room.tree_first + k - 1];
  if (sum == old) return false;
  old = sum;
  return true;
}

void PairTournament::SumRoom(const Room& room) {
  for (uint32_t block = 0; block < room.leaf_count; ++block) SumBlock(room, block);
  for (uint32_t k = room.leaf_count; k-- > 1;) SumPair(room, k);
}

template <bool kReceivers>
PairTournament::Least PairTournament::LeastOf(const Room& room, uint32_t first, uint32_t last) const {
  Least least;
  const auto scan = [&](uint32_t from, uint32_t to) {
    for (uint32_t e = from; e < to; ++e) {
      const Element& element = elements_[e];
      const int64_t value = element.sends() != kReceivers ? element.key : kAbsent;
      Take(value, element.who, &least.value, &least.who);
    }
  };
  const uint32_t base = room.elements_first;
  uint32_t left = (first - base + kBlock - 1) / kBlock, right = (last - base) / kBlock;  // whole blocks
  if (last == base + room.elements_count) right = room.leaf_count;                       // the last block may be short
  if (left > right) left = right;
  scan(first, std::min(last, base + left * kBlock));
  scan(std::max(first, base + right * kBlock), last);
  for (left += room.leaf_count, right += room.leaf_count; left < right; left /= 2, right /= 2) {
    const auto offer = [&](uint32_t k) {
      const Summary& sum = trees_[room.tree_first + k - 1];
      Take(kReceivers ? sum.receiver : sum.sender, kReceivers ? sum.receiver_who : sum.sender_who, &least.value,
           &least.who);
    };
    if (left % 2 == 1) offer(left++);
    if (right % 2 == 1) offer(--right);
  }
  return least;
}

uint32_t PairTournament::FirstReceiver(const Room& room, uint32_t from) const {
  const uint32_t base = room.elements_first, end = base + room.elements_count;
  const auto scan = [&](uint32_t first, uint32_t last) {
    for (uint32_t e = first; e < last; ++e) {
      if (!elements_[e].sends() && elements_[e].key < kAbsent) return e;
    }
    return end;
  };
  if (from >= end) return end;
  const uint32_t block = (from - base) / kBlock;
  const uint32_t found = scan(from, std::min(end, base + (block + 1) * kBlock));
  if (found != end) return found;
  // The search goes up until there is a receiver to the right, and then down to the leftmost one.
  const auto has = [&](uint32_t k) { return trees_[room.tree_first + k - 1].receiver < kAbsent; };
  uint32_t k = room.leaf_count + block;
  while (k > 1 && (k % 2 == 1 || !has(k + 1))) k /= 2;
  if (k <= 1) return end;
  for (++k; k < room.leaf_count;) k = has(2 * k) ? 2 * k : 2 * k + 1;
  const uint32_t first = base + (k - room.leaf_count) * kBlock;
  return scan(first, std::min(end, first + kBlock));
}

void PairTournament::Update(const Room& room, uint32_t element) {
  const uint32_t block = (element - room.elements_first) / kBlock;
  bool changed = SumBlock(room, block);
  for (uint32_t k = (room.leaf_count + block) / 2; changed && k >= 1; k /= 2) changed = SumPair(room, k);
  if (changed) Enter(room);
}

void PairTournament::Enter(const Room& room) {
  uint32_t k = winner_leaf_count_ + static_cast<uint32_t>(&room - rooms_.data());
  const Best& best = trees_[room.tree_first].best;
  if (!Counts(room) || winners_[k] == best) return;
  winners_[k] = best;
  for (k /= 2; k >= 1; k /= 2) {
    Best winner = winners_[2 * k];
    Take(winners_[2 * k + 1].cost_ns, winners_[2 * k + 1].pair, &winner);
    if (winners_[k] == winner) return;
    winners_[k] = winner;
  }
}

template <bool kReceivers>
bool PairTournament::PushGroup(const Room& room, Group* group) {
  Least least;
  if (kReceivers && !room.open) {
    // The switches above a closed switch get no receiver from it.
  } else if (room.groups_count == 1) {
    const Summary& sum = trees_[room.tree_first];
    least = kReceivers ? Least{sum.receiver, sum.receiver_who} : Least{sum.sender, sum.sender_who};
  } else {
    least = LeastOf<kReceivers>(room, group->first, group->last);
  }
  if (!kReceivers) group->told = least;
  Element& above = elements_[group->element + (kReceivers ? 1 : 0)];
  const int64_t key = Further(least.value, room.latency_ns - (kReceivers ? room.urgency_ns : 0));
  if (above.key == key && above.who == least.who) return false;
  above.key = key;
  above.who = least.who;
  return true;
}

void PairTournament::Tell(uint32_t at, uint32_t element) {
  while (rooms_[at].parent != kNobody) {
    const Element& below = elements_[element];
    Group& group = groups_[below.group()];
    const Least least{below.key, below.who};
    if (!least.Beats(group.told)) return;
    // The value that was passed up last is at most that of any other sender, so the new one is the least.
    group.told = least;
    element = group.element;
    elements_[element].key = Further(least.value, rooms_[at].latency_ns);
    elements_[element].who = least.who;
    at = rooms_[at].parent;
    Update(rooms_[at], element);
  }
}

template <bool kReceivers>
void PairTournament::Refresh(uint32_t node) {
  const Place& place = places_[node];
  RefreshFrom<kReceivers>(place.room, elements_[place.element].group());
}

template <bool kReceivers>
void PairTournament::RefreshFrom(uint32_t at, uint32_t group) {
  while (rooms_[at].parent != kNobody) {
    const bool changed = PushGroup<kReceivers>(rooms_[at], &groups_[group]);
    at = rooms_[at].parent;
    const uint32_t element = groups_[group].element + (kReceivers ? 1 : 0);
    if (changed) Update(rooms_[at], element);
    group = elements_[element].group();
  }
}

void PairTournament::Calm(uint32_t switch_vertex) {
  const uint32_t at = RoomOf(switch_vertex);
  rooms_[at].urgency_ns = 0;
  // The values above must be exact for nodes that still receive, so they are refreshed at once.
  for (uint32_t g = 0; g < rooms_[at].groups_count; ++g) RefreshFrom<true>(at, rooms_[at].groups_first + g);
}

PairTournament::Message PairTournament::Find() {
  for (;;) {
    const Best best = winners_[1];
    if (best.cost_ns >= kAbsent) return {};
    const Message message = Weigh(best.sender(), best.receiver());
    if (message.cost_ns == best.cost_ns) return message;
    // The values above are exact for nodes that still receive. So either the receiver no longer does, or the sender's
    // key has grown.
    if (message.sender == kNobody) {
      Refresh<true>(best.receiver());
    } else {
      Refresh<false>(best.sender());
    }
    CHECK(!(winners_[1] == best));
  }
}

PairTournament::Message PairTournament::Weigh(uint32_t sender, uint32_t receiver) const {
  const Place &from = places_[sender], &to = places_[receiver];
  const Element &sends = elements_[from.element], &receives = elements_[to.element];
  if (receives.sends() || receives.key >= kAbsent) return {};
  Message message{kAbsent, std::max(sends.stream_ns, receives.stream_ns), 0, sender, receiver};
  int64_t latency_ns = 0;
  uint32_t i = from.room, j = to.room;
  while (i != j) {
    uint32_t& deeper = rooms_[i].depth > rooms_[j].depth ? i : j;
    const Room& room = rooms_[deeper];
    if (&deeper == &j) {
      if (!room.open) return {};
      message.urgency_ns += room.urgency_ns;
    }
    latency_ns += room.latency_ns;
    message.stream_ns = std::max(message.stream_ns, room.stream_ns);
    deeper = room.parent;
  }
  if (!Counts(rooms_[i])) return {};
  if (sends.sends()) {
    message.cost_ns = sends.key + receives.key + latency_ns + message.stream_ns - message.urgency_ns;
  }
  return message;
}

void PairTournament::Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys,
                           uint32_t level, const std::vector<bool>* open) {
  const uint32_t n = costs_->node_count(), count = costs_->vertex_count();
  level_ = level;
  for (uint32_t v = 0; v < n; ++v) {
    const Place& place = places_[v];
    Element& element = elements_[place.element];
    const bool sends = sender_keys[v] != kAbsent;
    const bool receives = receiver_keys[v] != kAbsent && (level == kNoLevel || rooms_[place.room].depth >= level);
    CHECK(!sends || receiver_keys[v] == kAbsent);
    element.key = sends ? sender_keys[v] + place.latency_ns : receives ? receiver_keys[v] + place.latency_ns : kAbsent;
    element.who = sends || receives ? v : kNobody;
    element.kind_and_group = element.group() | (sends ? kSender : 0);
  }
  for (uint32_t v = count; v-- > n;) {
    Room& room = rooms_[RoomOf(v)];
    room.open = level == kNoLevel || room.depth != level || (*open)[v];
    SumRoom(room);
    for (uint32_t g = 0; room.parent != kNobody && g < room.groups_count; ++g) {
      PushGroup<false>(room, &groups_[room.groups_first + g]);
      PushGroup<true>(room, &groups_[room.groups_first + g]);
    }
  }
  std::fill(winners_.begin(), winners_.end(), Best{});
  for (uint32_t r = 0; r < rooms_.size(); ++r) {
    if (Counts(rooms_[r])) winners_[winner_leaf_count_ + r] = trees_[rooms_[r].tree_first].best;
  }
  for (uint32_t k = winner_leaf_count_; k-- > 1;) {
    winners_[k] = winners_[2 * k + 1].Beats(winners_[2 * k]) ? winners_[2 * k + 1] : winners_[2 * k];
  }
}

void PairTournament::SetKey(const Place& place, uint32_t node, int64_t key) {
  Element& element = elements_[place.element];
  element.key = Further(key, place.latency_ns);
  element.who = element.key == kAbsent ? kNobody : node;
  element.kind_and_group |= kSender;
}

void PairTournament::SetSender(uint32_t node, int64_t key) {
  const Place& place = places_[node];
  SetKey(place, node, key);
  Update(rooms_[place.room], place.element);
  Tell(place.room, place.element);
}

void PairTournament::SetSenders(uint32_t a, int64_t a_key, uint32_t b, int64_t b_key) {
  const Place &at = places_[a], &to = places_[b];
  if (at.room != to.room) {
    SetSender(a, a_key);
    SetSender(b, b_key);
    return;
  }
  // Most messages stay below one switch, whose summaries are then recomputed only once.
  SetKey(at, a, a_key);
  SetKey(to, b, b_key);
  const Room& room = rooms_[at.room];
  uint32_t i = (at.element - room.elements_first) / kBlock, j = (to.element - room.elements_first) / kBlock;
  bool i_changed = SumBlock(room, i), j_changed = i == j ? false : SumBlock(room, j);
  for (i += room.leaf_count, j += room.leaf_count; (i_changed || j_changed) && i > 1;) {
    i /= 2, j /= 2;
    if (i == j) {
      i_changed = SumPair(room, i);
      j_changed = false;
    } else {
      i_changed = i_changed && SumPair(room, i);
      j_changed = j_changed && SumPair(room, j);
    }
  }
  if (i_changed || j_changed) Enter(room);
  Tell(at.room, at.element);
  Tell(to.room, to.element);
}

uint32_t PairTournament::HelperOf(uint32_t sender) {
  if (level_ == kNoLevel || rooms_[places_[sender].room].depth < level_) return kNobody;
  for (;;) {
    const uint32_t helper = ToldHelperOf(sender);
    if (helper == kNobody || !elements_[places_[helper].element].sends()) return helper;
    Refresh<true>(helper);
  }
}

uint32_t PairTournament::ToldHelperOf(uint32_t sender) const {
  uint32_t at = places_[sender].room;
  int64_t latency_ns = places_[sender].latency_ns, stream_ns = elements_[places_[sender].element].stream_ns;
  int64_t best_stream_ns = kAbsent;
  Least best;
  for (;;) {
    const Room& room = rooms_[at];
    const auto begin = elements_.begin() + room.elements_first, end = begin + room.elements_count;
    const auto after = [&](int64_t stream) {
      return static_cast<uint32_t>(
          std::upper_bound(begin, end, stream, [](int64_t s, const Element& e) { return s < e.stream_ns; }) -
          elements_.begin());
    };
    // All receivers whose side of the path is no slower than the sender's side have equal Stream. If there are none,
    // the receivers with the least Stream are compared.
    uint32_t last = after(stream_ns);
    int64_t here_ns = stream_ns;
    Least least = LeastOf<true>(room, room.elements_first, last);
    if (least.value >= kAbsent) {
      const uint32_t first = FirstReceiver(room, last);
      if (first < room.elements_first + room.elements_count) {
        here_ns = elements_[first].stream_ns;
        last = after(here_ns);
        least = LeastOf<true>(room, first, last);
      }
    }
    if (least.value < kAbsent) {
      least.value += latency_ns;
      if (here_ns < best_stream_ns || (here_ns == best_stream_ns && least.Beats(best))) {
        best_stream_ns = here_ns;
        best = least;
      }
    }
    if (room.depth == level_) return best.who;
    latency_ns += room.latency_ns;
    stream_ns = std::max(stream_ns, room.stream_ns);
    at = room.parent;
  }
}

}  // namespace copse::planner
