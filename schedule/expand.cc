// SPDX-License-Identifier: Apache-2.0
#include "schedule/expand.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "schedule/cycle_tree.h"
#include "schedule/sequence_builder.h"

namespace copse::schedule {
namespace {

// Directed holds a node's parent and children in one call, on the way to the root (up) and back (down); children are in
// order. On a tree the two ways have the same nodes.
struct Directed {
  uint32_t up_parent = kNobody;
  std::vector<uint32_t> up_children;
  uint32_t down_parent = kNobody;
  std::vector<uint32_t> down_children;
};

// Directs a call around a cycle. All data is sent forward: sums begin at the node after the root and end at the root;
// results begin at the root and end at the node before it.
Directed DirectOnCycle(const Plan& plan, const NodeView& view) {
  const absl::Span<const uint32_t> cycle = CycleOf(plan);
  const auto n = static_cast<uint32_t>(cycle.size());
  const auto position = [&](uint32_t node) {
    return static_cast<uint32_t>(std::find(cycle.begin(), cycle.end(), node) - cycle.begin());
  };
  const uint32_t at = position(view.node.value());
  const uint32_t root = position(view.root_node);
  const auto forward = [&](uint32_t steps) { return cycle[(at + steps) % n]; };
  const auto back = [&](uint32_t steps) { return cycle[(at + n - steps) % n]; };
  Directed directed;
  const CycleTree up = CycleTreeAt(DistancesOf(plan), n, (root + n - at) % n);
  if (up.parent != 0) directed.up_parent = forward(up.parent);
  for (const uint32_t step : up.children) directed.up_children.push_back(back(step));
  const CycleTree down = CycleTreeAt(DistancesOf(plan), n, (at + n - root) % n);
  if (down.parent != 0) directed.down_parent = back(down.parent);
  for (const uint32_t step : down.children) directed.down_children.push_back(forward(step));
  // The child with the most nodes below it is served first.
  std::reverse(directed.down_children.begin(), directed.down_children.end());
  return directed;
}

Directed Direct(const Plan& plan, const TreeIndex& index, const NodeView& view) {
  if (plan.kind == PlanKind::kCirculant) return DirectOnCycle(plan, view);
  Directed directed;
  directed.up_parent = directed.down_parent = index.Towards(view.node.value(), view.root_node);
  for (const uint32_t v : plan.neighbors[view.node.value()]) {
    if (v != directed.up_parent) directed.up_children.push_back(v);
  }
  directed.down_children = directed.up_children;
  return directed;
}

NodeSequence ExpandBcast(const Plan& plan, const TreeIndex& index, const NodeView& view) {
  const Directed to = Direct(plan, index, view);
  SequenceBuilder out(plan, view.node);
  const bool at_root = to.down_parent == kNobody;
  Buffer source{Place::kCell, to.down_parent};
  if (at_root) {
    out.RecvLocal(view.root_local_index, kDown);
    source = {Place::kRankSend, view.root_local_index};
  } else {
    out.RecvFrom(to.down_parent, kDown);
  }
  out.Wait(kDown);
  if (at_root && view.local_ranks > 1) {
    // The message is copied, so that the root rank is done before late ranks on this node have got it.
    out.Copy(source, {Place::kScratch});
    source = {Place::kScratch};
  }
  for (const uint32_t child : to.down_children) out.SendTo(child, kDown, source);
  if (!at_root && view.local_ranks == 1 && to.down_children.empty()) {
    out.DeliverAlone(0, source, kDown);
    return out.End();
  }
  for (uint32_t l = 0; l < view.local_ranks; ++l) {
    if (at_root && l == view.root_local_index) {
      out.Release(l);
    } else {
      out.Deliver(l, source);
    }
  }
  return out.End();
}

// Expands barrier, reduce and allreduce: up to the root and, except for reduce, down again.
NodeSequence ExpandUpAndDown(const Plan& plan, const TreeIndex& index, const NodeView& view, Collective collective) {
  const Directed to = Direct(plan, index, view);
  SequenceBuilder out(plan, view.node);
  std::vector<Buffer> operands;
  for (uint32_t l = 0; l < view.local_ranks; ++l) {
    out.RecvLocal(l, kUp);
    operands.push_back({Place::kRankSend, l});
  }
  for (const uint32_t child : to.up_children) {
    out.RecvFrom(child, kUp);
    operands.push_back({Place::kCell, child});
  }
  out.Wait(kUp);
  const bool has_data = collective != Collective::kBarrier;
  Buffer result = has_data ? out.Combine(std::move(operands)) : Buffer{};
  const bool at_root = to.up_parent == kNobody;
  if (!at_root) out.SendTo(to.up_parent, kUp, result);
  if (collective == Collective::kReduce) {
    for (uint32_t l = 0; l < view.local_ranks; ++l) {
      if (at_root && l == view.root_local_index) {
        out.Deliver(l, result);
      } else {
        out.Release(l);
      }
    }
    return out.End();
  }
  if (!at_root) {
    out.RecvFrom(to.down_parent, kDown);
    out.Wait(kDown);
    if (has_data) result = {Place::kCell, to.down_parent};
  }
  for (const uint32_t child : to.down_children) out.SendTo(child, kDown, result);
  if (has_data && !at_root && view.local_ranks == 1 && to.down_children.empty()) {
    out.DeliverAlone(0, result, kDown);
    return out.End();
  }
  for (uint32_t l = 0; l < view.local_ranks; ++l) out.Deliver(l, result);
  return out.End();
}

// Returns the operands of a round in node order, so that all nodes that reduce the same contributions get equal bits.
// Only a node that just receives in the round, from nodes whose values no other node reduces, may have more operands
// than the ALU takes at once. Then the node's own value has to be first, since the ALU overwrites it with the result of
// the first batch.
std::vector<Buffer> RoundOperands(uint32_t node, std::vector<uint32_t> from) {
  const Buffer own{Place::kScratch};
  std::sort(from.begin(), from.end());
  std::vector<Buffer> operands;
  for (const uint32_t peer : from) operands.push_back({Place::kCell, peer});
  const auto lower = std::lower_bound(from.begin(), from.end(), node) - from.begin();
  operands.insert(operands.begin() + (from.size() > kRoundPartnersMax ? 0 : lower), own);
  return operands;
}

// Expands dissemination and other symmetric schedules; the accumulator is scratch, since it changes from round to
// round.
NodeSequence ExpandExchange(const Plan& plan, const NodeView& view, Collective collective) {
  SequenceBuilder out(plan, view.node);
  std::vector<Buffer> operands;
  for (uint32_t l = 0; l < view.local_ranks; ++l) {
    out.RecvLocal(l, 0);
    operands.push_back({Place::kRankSend, l});
  }
  out.Wait(0);
  const bool has_data = collective != Collective::kBarrier;
  const Buffer scratch = has_data ? Buffer{Place::kScratch} : Buffer{};
  if (has_data && operands.size() == 1) {
    out.Copy(operands[0], scratch);
  } else if (has_data) {
    out.Reduce(std::move(operands), scratch);
  }
  const std::vector<ExchangeStep>& steps = plan.steps[view.node.value()];
  for (size_t begin = 0, end = 0; begin < steps.size(); begin = end) {
    const uint16_t round = steps[begin].round;
    while (end < steps.size() && steps[end].round == round) ++end;
    std::vector<uint32_t> from;
    bool combine = true;
    for (size_t i = begin; i < end; ++i) {
      if (steps[i].send_to != kNobody) out.SendTo(steps[i].send_to, round, scratch);
    }
    for (size_t i = begin; i < end; ++i) {
      if (steps[i].receive_from == kNobody) continue;
      out.RecvFrom(steps[i].receive_from, round);
      from.push_back(steps[i].receive_from);
      combine &= steps[i].combine;
    }
    if (from.empty()) continue;
    out.Wait(round);
    if (!has_data) continue;
    if (combine) {
      out.Reduce(RoundOperands(view.node.value(), std::move(from)), scratch);
    } else {
      out.Copy({Place::kCell, from[0]}, scratch);
    }
  }
  for (uint32_t l = 0; l < view.local_ranks; ++l) out.Deliver(l, scratch);
  return out.End();
}

}  // namespace

TreeIndex::TreeIndex(const Plan& plan) {
  if (plan.kind != PlanKind::kTree) return;
  const size_t n = plan.neighbors.size();
  parent_.assign(n, kNobody);
  enter_.assign(n, 0);
  leave_.assign(n, 0);
  children_.resize(n);
  // This is a depth-first search without recursion: `path` holds the vertices from the root, each with its next place
  // in the neighbor list.
  std::vector<std::pair<uint32_t, size_t>> path;
  uint32_t clock = 0;
  path.emplace_back(plan.root_node.value(), 0);
  enter_[plan.root_node.value()] = clock++;
  while (!path.empty()) {
    const uint32_t v = path.back().first;
    size_t& next = path.back().second;
    if (next == plan.neighbors[v].size()) {
      leave_[v] = clock;
      path.pop_back();
      continue;
    }
    const uint32_t child = plan.neighbors[v][next++];
    if (child == parent_[v]) continue;
    parent_[child] = v;
    children_[v].push_back(child);
    enter_[child] = clock++;
    path.emplace_back(child, 0);
  }
}

uint32_t TreeIndex::Towards(uint32_t node, uint32_t root) const {
  if (node == root) return kNobody;
  if (enter_[root] < enter_[node] || enter_[root] >= leave_[node]) return parent_[node];
  const std::vector<uint32_t>& children = children_[node];
  auto after = std::upper_bound(children.begin(), children.end(), enter_[root],
                                [this](uint32_t enter, uint32_t child) { return enter < enter_[child]; });
  return *(after - 1);
}

NodeView ViewOf(const ShapeIndex& shape, const Plan& plan, NodeIndex node, const CallArguments& arguments,
                uint32_t rotation) {
  NodeView view{.node = node, .local_ranks = static_cast<uint32_t>(shape.RanksOf(node).size())};
  view.root_node = plan.root_node.value();
  if (RotationsOf(plan) > 1) view.root_node = CycleOf(plan)[rotation];
  if (HasRoot(arguments.collective)) {
    CHECK(arguments.root < shape.size());
    view.root_node = shape.NodeOf(Rank(arguments.root)).value();
    view.root_local_index = shape.LocalIndexOf(Rank(arguments.root));
  }
  return view;
}

absl::StatusOr<NodeSequence> Expand(const Plan& plan, const TreeIndex& index, const NodeView& view,
                                    const CallArguments& arguments) {
  if (arguments.collective != plan.collective) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(), " is for ",
                                                   AbslView(CollectiveName(plan.collective)), ", the call is ",
                                                   DescribeArguments(arguments)));
  }
  const uint64_t bytes = arguments.collective == Collective::kBarrier ? 0 : arguments.bytes();
  if (bytes < plan.bytes_min || bytes > plan.bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(), ": message outside its size class (bytes=",
                                                   bytes, ", limit=", plan.bytes_min, "-", plan.bytes_max, ")"));
  }
  if (view.node.value() >= plan.node_count || view.root_node >= plan.node_count) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(),
                                                   ": node out of range (node=", view.node.value(),
                                                   ", root=", view.root_node, ", limit=", plan.node_count, ")"));
  }
  if (view.local_ranks == 0 || view.local_ranks > kLocalRanksMax || view.root_local_index >= kLocalRanksMax) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(), ": ranks on node ", view.node.value(),
                                                   " (ranks=", view.local_ranks, ", limit=1-", kLocalRanksMax, ")"));
  }
  return ExpandAs(arguments.collective, plan, index, view);
}

NodeSequence ExpandAs(Collective collective, const Plan& plan, const TreeIndex& index, const NodeView& view) {
  if (plan.kind == PlanKind::kExchange) return ExpandExchange(plan, view, collective);
  if (collective == Collective::kBcast) return ExpandBcast(plan, index, view);
  return ExpandUpAndDown(plan, index, view, collective);
}

std::vector<Segment> SegmentsOf(const Plan& plan, uint64_t bytes) {
  std::vector<Segment> segments;
  const uint32_t count = SegmentCount(plan, bytes);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t offset = uint64_t{i} * plan.segment_bytes;
    const uint64_t length = count == 1 ? bytes : std::min<uint64_t>(plan.segment_bytes, bytes - offset);
    segments.push_back({i, offset, length});
  }
  return segments;
}

}  // namespace copse::schedule
