// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/pair_tournament.h"

#include <algorithm>

#include "base/check.h"
#include "planner/topology/topology.h"

namespace copse::planner {
namespace {

// Returns value + by, or kAbsent if the value is absent.
int64_t Further(int64_t value, int64_t by) { return value >= kAbsent ? kAbsent : value + by; }

}  // namespace

PairTournament::PairTournament(const BroadcastCosts* costs)
    : costs_(costs),
      rooms_(costs->vertex_count() - costs->node_count()),
      places_(costs->node_count()),
      winners_(rooms_.size()) {
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
}

void PairTournament::BuildRoom(uint32_t vertex, const std::vector<uint32_t>& children_first,
                               const std::vector<uint32_t>& children) {
  const uint32_t n = costs_->node_count();
  Room& room = RoomOf(vertex);
  const int64_t link_stream_ns = IsTop(vertex) ? 0 : costs_->LinkStream(vertex);
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
    const Room& below = RoomOf(child);
    for (uint32_t g = below.groups_first; g < below.groups_first + below.groups_count; ++g) {
      heard.push_back({std::max(elements_[groups_[g].first].stream_ns, costs_->LinkStream(child)), false, g});
    }
  }
  std::stable_sort(heard.begin(), heard.end(),
                   [](const Heard& a, const Heard& b) { return a.stream_ns < b.stream_ns; });

  room.groups_first = static_cast<uint32_t>(groups_.size());
  for (uint32_t i = 0; i < heard.size(); ++i) {
    const uint32_t element = elements_.size();
    // An element that is slower than the switch's own link, and differs from the element before, begins a new class.
    const bool joins = i > 0 && (heard[i].stream_ns <= link_stream_ns || heard[i].stream_ns == heard[i - 1].stream_ns);
    if (!joins) groups_.push_back({element, element, 0});
    const uint32_t group = static_cast<uint32_t>(groups_.size() - 1);
    if (heard[i].is_node) {
      places_[heard[i].id] = {vertex, element, costs_->LinkLatency(heard[i].id)};
      elements_.Add({kAbsent, heard[i].stream_ns, kNobody, group});
    } else {
      groups_[heard[i].id].element = element;
      elements_.Add({kAbsent, heard[i].stream_ns, kNobody, group | Element::kSender});
      elements_.Add({kAbsent, heard[i].stream_ns, kNobody, group});
    }
    groups_.back().last = elements_.size();
  }
  room.elements = elements_.EndRange();
  room.groups_count = static_cast<uint32_t>(groups_.size()) - room.groups_first;
}

void PairTournament::Update(uint32_t at, uint32_t element) {
  if (elements_.Update(RoomOf(at).elements, element)) Enter(at);
}

void PairTournament::Enter(uint32_t at) {
  if (Counts(at)) winners_.Set(at - costs_->node_count(), BestOf(at));
}

template <bool kReceivers>
bool PairTournament::PushGroup(uint32_t at, Group* group) {
  const Room& room = RoomOf(at);
  Least least;
  if (kReceivers && !room.open) {
    // The switches above a closed switch get no receiver from it.
  } else if (room.groups_count == 1) {
    const ElementTrees::Summary& sum = elements_.SummaryOf(room.elements);
    least = kReceivers ? Least{sum.receiver, sum.receiver_who} : Least{sum.sender, sum.sender_who};
  } else {
    least = elements_.LeastOf<kReceivers>(room.elements, group->first, group->last);
  }
  if (!kReceivers) group->told = least;
  Element& above = elements_[group->element + (kReceivers ? 1 : 0)];
  const int64_t key = Further(least.value, costs_->LinkLatency(at) - (kReceivers ? room.urgency_ns : 0));
  if (above.key == key && above.who == least.who) return false;
  above.key = key;
  above.who = least.who;
  return true;
}

void PairTournament::Tell(uint32_t at, uint32_t element) {
  while (!IsTop(at)) {
    const Element& below = elements_[element];
    Group& group = groups_[below.group()];
    const Least least{below.key, below.who};
    if (!least.Beats(group.told)) return;
    // The value that was passed up last is at most that of any other sender, so the new one is the least.
    group.told = least;
    element = group.element;
    elements_[element].key = Further(least.value, costs_->LinkLatency(at));
    elements_[element].who = least.who;
    at = costs_->ParentOf(at);
    Update(at, element);
  }
}

template <bool kReceivers>
void PairTournament::Refresh(uint32_t node) {
  const Place& place = places_[node];
  RefreshFrom<kReceivers>(place.at, elements_[place.element].group());
}

template <bool kReceivers>
void PairTournament::RefreshFrom(uint32_t at, uint32_t group) {
  while (!IsTop(at)) {
    const bool changed = PushGroup<kReceivers>(at, &groups_[group]);
    at = costs_->ParentOf(at);
    const uint32_t element = groups_[group].element + (kReceivers ? 1 : 0);
    if (changed) Update(at, element);
    group = elements_[element].group();
  }
}

void PairTournament::Calm(uint32_t switch_vertex) {
  Room& room = RoomOf(switch_vertex);
  room.urgency_ns = 0;
  // The values above must be exact for nodes that still receive, so they are refreshed at once.
  for (uint32_t g = 0; g < room.groups_count; ++g) RefreshFrom<true>(switch_vertex, room.groups_first + g);
}

PairTournament::Message PairTournament::Find() {
  for (;;) {
    const LeastPair best = winners_.winner();
    if (best.cost_ns >= kAbsent) return {};
    const Message message = Weigh(best.sender(), best.receiver());
    if (message.ends.cost_ns == best.cost_ns) return message;
    // The values above are exact for nodes that still receive. So either the receiver no longer does, or the sender's
    // key has grown.
    if (message.ends.sender() == kNobody) {
      Refresh<true>(best.receiver());
    } else {
      Refresh<false>(best.sender());
    }
    CHECK(!(winners_.winner() == best));
  }
}

PairTournament::Message PairTournament::Weigh(uint32_t sender, uint32_t receiver) const {
  const Place &from = places_[sender], &to = places_[receiver];
  const Element &sends = elements_[from.element], &receives = elements_[to.element];
  if (receives.sends() || receives.key >= kAbsent) return {};
  Message message{{kAbsent, LeastPair::PairOf(sender, receiver)}, std::max(sends.stream_ns, receives.stream_ns)};
  int64_t latency_ns = 0;
  uint32_t i = from.at, j = to.at;
  while (i != j) {
    uint32_t& deeper = costs_->DepthOf(i) > costs_->DepthOf(j) ? i : j;
    if (&deeper == &j) {
      if (!RoomOf(j).open) return {};
      message.urgency_ns += RoomOf(j).urgency_ns;
    }
    latency_ns += costs_->LinkLatency(deeper);
    message.stream_ns = std::max(message.stream_ns, costs_->LinkStream(deeper));
    deeper = costs_->ParentOf(deeper);
  }
  if (!Counts(i)) return {};
  if (sends.sends()) {
    message.ends.cost_ns = sends.key + receives.key + latency_ns + message.stream_ns - message.urgency_ns;
  }
  return message;
}

void PairTournament::Reset(absl::Span<const int64_t> sender_keys, absl::Span<const int64_t> receiver_keys,
                           uint32_t level, const std::vector<bool>& open) {
  const uint32_t n = costs_->node_count(), count = costs_->vertex_count();
  level_ = level;
  for (uint32_t v = 0; v < n; ++v) {
    const Place& place = places_[v];
    Element& element = elements_[place.element];
    const bool sends = sender_keys[v] != kAbsent;
    const bool receives = receiver_keys[v] != kAbsent && (level == kNoLevel || costs_->DepthOf(place.at) >= level);
    CHECK(!sends || receiver_keys[v] == kAbsent);
    element.key = sends ? sender_keys[v] + place.latency_ns : receives ? receiver_keys[v] + place.latency_ns : kAbsent;
    element.who = sends || receives ? v : kNobody;
    element.kind_and_group = element.group() | (sends ? Element::kSender : 0);
  }
  for (uint32_t v = count; v-- > n;) {
    Room& room = RoomOf(v);
    room.open = costs_->DepthOf(v) != level || open[v];
    elements_.Sum(room.elements);
    for (uint32_t g = 0; !IsTop(v) && g < room.groups_count; ++g) {
      PushGroup<false>(v, &groups_[room.groups_first + g]);
      PushGroup<true>(v, &groups_[room.groups_first + g]);
    }
  }
  std::vector<LeastPair> best(rooms_.size());
  for (uint32_t v = n; v < count; ++v) {
    if (Counts(v)) best[v - n] = BestOf(v);
  }
  winners_.Reset(best);
}

void PairTournament::SetKey(const Place& place, uint32_t node, int64_t key) {
  Element& element = elements_[place.element];
  element.key = Further(key, place.latency_ns);
  element.who = element.key == kAbsent ? kNobody : node;
  element.kind_and_group |= Element::kSender;
}

void PairTournament::SetSender(uint32_t node, int64_t key) {
  const Place& place = places_[node];
  SetKey(place, node, key);
  Update(place.at, place.element);
  Tell(place.at, place.element);
}

void PairTournament::SetSenders(uint32_t a, int64_t a_key, uint32_t b, int64_t b_key) {
  const Place &first = places_[a], &second = places_[b];
  if (first.at != second.at) {
    SetSender(a, a_key);
    SetSender(b, b_key);
    return;
  }
  // Most messages stay below one switch, whose summaries are then recomputed only once.
  SetKey(first, a, a_key);
  SetKey(second, b, b_key);
  if (elements_.Update(RoomOf(first.at).elements, first.element, second.element)) Enter(first.at);
  Tell(first.at, first.element);
  Tell(second.at, second.element);
}

uint32_t PairTournament::HelperOf(uint32_t sender) {
  if (level_ == kNoLevel || costs_->DepthOf(places_[sender].at) < level_) return kNobody;
  for (;;) {
    const uint32_t helper = ToldHelperOf(sender);
    if (helper == kNobody || !elements_[places_[helper].element].sends()) return helper;
    Refresh<true>(helper);
  }
}

uint32_t PairTournament::ToldHelperOf(uint32_t sender) const {
  uint32_t at = places_[sender].at;
  int64_t latency_ns = places_[sender].latency_ns, stream_ns = elements_[places_[sender].element].stream_ns;
  int64_t best_stream_ns = kAbsent;
  Least best;
  for (;;) {
    const ElementRange& range = RoomOf(at).elements;
    // All receivers whose side of the path is no slower than the sender's side have equal Stream. If there are none,
    // the receivers with the least Stream are compared.
    uint32_t last = elements_.FirstBeyond(range, stream_ns);
    int64_t here_ns = stream_ns;
    Least least = elements_.LeastOf<true>(range, range.first, last);
    if (least.value >= kAbsent) {
      const uint32_t first = elements_.FirstReceiver(range, last);
      if (first < range.last) {
        here_ns = elements_[first].stream_ns;
        last = elements_.FirstBeyond(range, here_ns);
        least = elements_.LeastOf<true>(range, first, last);
      }
    }
    if (least.value < kAbsent) {
      least.value += latency_ns;
      if (here_ns < best_stream_ns || (here_ns == best_stream_ns && least.Beats(best))) {
        best_stream_ns = here_ns;
        best = least;
      }
    }
    if (costs_->DepthOf(at) == level_) return best.who;
    latency_ns += costs_->LinkLatency(at);
    stream_ns = std::max(stream_ns, costs_->LinkStream(at));
    at = costs_->ParentOf(at);
  }
}

}  // namespace copse::planner
