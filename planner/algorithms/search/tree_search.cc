// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/tree_search.h"

#include <algorithm>
#include <utility>

namespace copse::planner {

TreeSearch::TreeSearch(const BroadcastCosts* costs, const BroadcastTree& start)
    : costs_(costs),
      root_(start.root),
      children_(costs->node_count()),
      parent_(costs->node_count(), kNoTreeParent),
      time_(costs->node_count(), 0),
      arrival_(costs->node_count(), 0),
      enter_(costs->node_count(), 0),
      leave_(costs->node_count(), 0) {
  for (size_t i = start.edges.size(); i-- > 0;) {
    const auto [from, to] = start.edges[i];
    parent_[to] = from;
    Insert(from, MakeChild(from, to));  // all children of `to` were inserted before
    time_[from] = TimeOf(from);
  }
}

TreeSearch::Child TreeSearch::MakeChild(uint32_t parent, uint32_t node) const {
  const BroadcastCosts::Pair pair = costs_->Between(parent, node);
  const int64_t travel = pair.latency_ns + costs_->Receive(node);
  return {node, costs_->Send(parent) + pair.stream_ns, travel, travel + time_[node]};
}

int64_t TreeSearch::TimeOf(uint32_t v) const {
  int64_t busy = 0, time = 0;
  for (const Child& child : children_[v]) {
    busy += child.busy_ns;
    time = std::max(time, busy + child.tail_ns);
  }
  return time;
}

int64_t TreeSearch::TimeWith(uint32_t v, const Child& extra) const {
  int64_t busy = 0, time = 0;
  bool pending = true;
  for (const Child& child : children_[v]) {
    if (pending && extra.tail_ns > child.tail_ns) {
      busy += extra.busy_ns;
      time = std::max(time, busy + extra.tail_ns);
      pending = false;
    }
    busy += child.busy_ns;
    time = std::max(time, busy + child.tail_ns);
  }
  return pending ? std::max(time, busy + extra.busy_ns + extra.tail_ns) : time;
}

size_t TreeSearch::CriticalChild(uint32_t v) const {
  int64_t busy = 0;
  for (size_t c = 0; c < children_[v].size(); ++c) {
    busy += children_[v][c].busy_ns;
    if (busy + children_[v][c].tail_ns == time_[v]) return c;
  }
  return 0;
}

void TreeSearch::Insert(uint32_t v, const Child& child) {
  std::vector<Child>& list = children_[v];
  auto at = list.end();
  while (at != list.begin() && (at - 1)->tail_ns < child.tail_ns) --at;
  list.insert(at, child);
}

void TreeSearch::Remove(uint32_t v, uint32_t node) {
  std::vector<Child>& list = children_[v];
  list.erase(std::find_if(list.begin(), list.end(), [node](const Child& child) { return child.node == node; }));
}

void TreeSearch::Refresh(uint32_t v) {
  for (;;) {
    const int64_t time = TimeOf(v);
    if (time == time_[v]) return;
    time_[v] = time;
    if (v == root_) return;
    const uint32_t above = parent_[v];
    std::vector<Child>& list = children_[above];
    size_t at = 0;
    while (list[at].node != v) ++at;
    Child child = list[at];
    child.tail_ns = child.travel_ns + time;
    for (; at > 0 && list[at - 1].tail_ns < child.tail_ns; --at) list[at] = list[at - 1];
    for (; at + 1 < list.size() && list[at + 1].tail_ns > child.tail_ns; ++at) list[at] = list[at + 1];
    list[at] = child;
    v = above;
  }
}

void TreeSearch::Relocate(uint32_t node, uint32_t to) {
  const uint32_t from = parent_[node];
  Remove(from, node);
  Refresh(from);
  parent_[node] = to;
  Insert(to, MakeChild(to, node));
  Refresh(to);
}

void TreeSearch::Swap(uint32_t a, uint32_t b) {
  if (parent_[a] == b) std::swap(a, b);  // if one is the other's parent, a is the parent
  const bool adjacent = parent_[b] == a;
  const uint32_t above_a = parent_[a], above_b = adjacent ? b : parent_[b];
  Remove(above_a, a);
  if (adjacent) {
    Remove(a, b);
  } else {
    Remove(above_b, b);
  }
  std::swap(children_[a], children_[b]);
  for (const uint32_t v : {a, b}) {
    std::vector<Child> old = std::move(children_[v]);
    children_[v].clear();
    for (const Child& child : old) {
      parent_[child.node] = v;
      Insert(v, MakeChild(v, child.node));
    }
    time_[v] = TimeOf(v);
  }
  // Either order of the two Refresh calls below is right: if the second one starts below the first one, it also updates
  // the times that the first one computed from stale ones.
  parent_[a] = above_b;
  parent_[b] = above_a;
  if (adjacent) {
    Insert(b, MakeChild(b, a));
    time_[b] = TimeOf(b);
    Insert(above_a, MakeChild(above_a, b));
    Refresh(above_a);
    return;
  }
  Insert(above_b, MakeChild(above_b, a));
  Insert(above_a, MakeChild(above_a, b));
  Refresh(above_b);
  Refresh(above_a);
}

void TreeSearch::Walk() {
  walk_.clear();
  walk_.push_back(root_);
  arrival_[root_] = 0;
  uint32_t place = 0;
  while (!walk_.empty()) {
    const uint32_t v = walk_.back();
    if (v >= costs_->node_count()) {  // marks the end of a node's subtree
      leave_[v - costs_->node_count()] = place;
      walk_.pop_back();
      continue;
    }
    walk_.back() = v + costs_->node_count();
    enter_[v] = place++;
    int64_t ready = arrival_[v];
    for (const Child& child : children_[v]) {
      ready += child.busy_ns;
      arrival_[child.node] = ready + child.travel_ns;
      walk_.push_back(child.node);
    }
  }
}

bool TreeSearch::TryRelocations(int64_t* steps) {
  const int64_t total = Time();
  const uint32_t n = costs_->node_count();
  int64_t best = total;
  uint32_t best_node = n, best_to = n;
  for (uint32_t v = root_; !children_[v].empty();) {
    const size_t critical = CriticalChild(v);
    for (size_t c = 0; c <= critical; ++c) {
      const uint32_t node = children_[v][c].node;
      const int64_t least = costs_->Receive(node) + time_[node];
      for (uint32_t to = 0; to < n; ++to) {
        if (arrival_[to] + costs_->Send(to) + least >= best || to == v) continue;
        const Child moved = MakeChild(to, node);
        if (arrival_[to] + moved.busy_ns + moved.tail_ns >= best || IsBelow(to, node)) continue;
        const int64_t end = arrival_[to] + TimeWith(to, moved);
        if (end >= best) continue;
        best = end;
        best_node = node;
        best_to = to;
      }
      *steps -= n;
    }
    v = children_[v][critical].node;
  }
  if (best_node == n) return false;
  Relocate(best_node, best_to);
  return true;
}

int64_t TreeSearch::TimeAs(uint32_t place, uint32_t node) const {
  int64_t busy = 0, time = 0;
  for (const Child& child : children_[place]) {
    const BroadcastCosts::Pair pair = costs_->Between(node, child.node);
    busy += costs_->Send(node) + pair.stream_ns;
    time = std::max(time, busy + pair.latency_ns + costs_->Receive(child.node) + time_[child.node]);
  }
  return time;
}

int64_t TreeSearch::EndWith(uint32_t place, uint32_t node, int64_t limit) const {
  const uint32_t v = parent_[place];
  const BroadcastCosts::Pair pair = costs_->Between(v, node);
  const int64_t busy_ns = costs_->Send(v) + pair.stream_ns, travel_ns = pair.latency_ns + costs_->Receive(node);
  if (arrival_[v] + busy_ns + travel_ns >= limit) return limit;
  const int64_t tail_ns = travel_ns + TimeAs(place, node);
  if (arrival_[v] + busy_ns + tail_ns >= limit) return limit;
  int64_t busy = arrival_[v], end = 0;
  bool pending = true;
  const auto serve = [&](int64_t child_busy_ns, int64_t child_tail_ns) {
    busy += child_busy_ns;
    end = std::max(end, busy + child_tail_ns);
  };
  for (const Child& child : children_[v]) {
    if (pending && tail_ns > child.tail_ns) {
      serve(busy_ns, tail_ns);
      pending = false;
    }
    if (child.node != place) serve(child.busy_ns, child.tail_ns);
  }
  if (pending) serve(busy_ns, tail_ns);
  return end;
}

bool TreeSearch::TrySwaps(Prng* prng, int64_t* steps) {
  const int64_t total = Time();
  const uint32_t n = costs_->node_count();
  std::vector<uint32_t> chain;
  for (uint32_t v = root_; !children_[v].empty();) {
    const size_t critical = CriticalChild(v);
    for (size_t c = 0; c <= critical; ++c) chain.push_back(children_[v][c].node);
    v = children_[v][critical].node;
  }
  const uint32_t first = static_cast<uint32_t>(prng->Below(n));
  for (size_t i = chain.size(); i-- > 0;) {
    const uint32_t a = chain[i];
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t b = first + k < n ? first + k : first + k - n;
      if (b == a || b == root_) continue;
      if (parent_[a] != parent_[b] && !IsBelow(a, b) && !IsBelow(b, a)) {
        // Neither node is above the other, so the ends of both parents' subtrees can be computed before the swap; they
        // rule out nearly all swaps.
        if (EndWith(a, b, total) >= total || EndWith(b, a, total) >= total) continue;
        *steps -= n;
        Swap(a, b);
        if (Time() <= total) return true;
        Swap(a, b);
        continue;
      }
      *steps -= 8;
      Swap(a, b);
      if (Time() < total) return true;
      Swap(a, b);
    }
    *steps -= n + n * children_[a].size() / 2;
    if (*steps <= 0) return false;
  }
  return false;
}

void TreeSearch::Improve(Prng* prng, int64_t* steps) {
  while (*steps > 0) {
    Walk();
    *steps -= costs_->node_count();
    if (!TryRelocations(steps) && !TrySwaps(prng, steps)) return;
  }
}

void TreeSearch::Shake(Prng* prng, uint32_t moves) {
  const uint32_t n = costs_->node_count();
  if (n < 3) return;
  for (uint32_t move = 0; move < moves; ++move) {
    const uint32_t a = static_cast<uint32_t>(prng->Below(n)), b = static_cast<uint32_t>(prng->Below(n));
    if (a == b || a == root_) continue;
    if (prng->Below(2) == 0) {
      if (b != root_) Swap(a, b);
      continue;
    }
    Walk();
    if (!IsBelow(b, a)) Relocate(a, b);
  }
}

BroadcastTree TreeSearch::Take() const {
  std::vector<std::vector<uint32_t>> children(children_.size());
  for (size_t v = 0; v < children_.size(); ++v) {
    for (const Child& child : children_[v]) children[v].push_back(child.node);
  }
  return TreeOfChildren(*costs_, root_, children);
}

}  // namespace copse::planner
