// SPDX-License-Identifier: Apache-2.0
//
// Expansions of blocks and counts along trees.
#include <algorithm>
#include <utility>

#include "schedule/block_expansion.h"

namespace copse::schedule {

std::vector<BlockExpansion::Link> BlockExpansion::ChildrenBut(uint32_t parent) const {
  std::vector<Link> children;
  for (const uint32_t v : plan_.neighbours[node_]) {
    if (v == parent) continue;
    const Interval interval = Below(v, node_);
    children.push_back({v, interval, Bytes(interval)});
  }
  return children;
}

void BlockExpansion::AwaitChildren(const std::vector<Link>& children) {
  for (const Link& child : children) {
    if (Goes(child.bytes)) out_.RecvFrom(child.node, kUp);
  }
  out_.Wait(kUp);
}

void BlockExpansion::Assemble(const Interval& interval, const std::vector<Link>& children, RunList* runs) const {
  std::vector<std::pair<uint64_t, const Link*>> parts = {{OffsetIn(interval, position_), nullptr}};
  for (const Link& child : children) {
    if (child.bytes > 0) parts.emplace_back(OffsetIn(interval, child.interval.begin), &child);
  }
  std::sort(parts.begin(), parts.end());
  for (const auto& [offset, child] : parts) {
    if (child == nullptr) {
      PackOwn({Place::kScratch, 0, offset}, runs);
    } else {
      runs->Add({Place::kCell, child->node}, {Place::kScratch, 0, offset}, child->bytes);
    }
  }
}

void BlockExpansion::Gather() {
  const uint32_t parent = ParentTowards(RootNode());
  const std::vector<Link> children = ChildrenBut(parent);
  AwaitChildren(children);
  RunList runs;
  if (parent != kNobody) {
    const Interval interval = Below(node_, parent);
    Assemble(interval, children, &runs);
    return SendRuns(parent, kUp, &runs, Bytes(interval));
  }
  const uint32_t root = shape_.LocalIndexOf(Rank(call_.root));
  RunList landing;
  ForEachPiece(Interval{position_, 1}, [&](const Piece& piece) {
    const uint32_t l = shape_.LocalIndexOf(Rank(piece.rank));
    if (l == root && !call_.ranks[l].sends) return;
    runs.Add(Sends(l, piece.offset), ReceivesFrom(root, piece), piece.bytes);
  });
  for (const Link& child : children) {
    if (child.bytes == 0) continue;
    Deliver(root, child.interval, {Place::kCell, child.node}, IsPut(child.bytes) ? &landing : &runs);
    out_.Land(kUp, landing.Take());
  }
  out_.CopyRuns(runs.Take());
}

void BlockExpansion::Scatter() {
  const uint32_t parent = ParentTowards(RootNode());
  const std::vector<Link> children = ChildrenBut(parent);
  RunList runs;
  if (parent == kNobody) {
    out_.Wait(kDown);
    const uint32_t root = shape_.LocalIndexOf(Rank(call_.root));
    for (const Link& child : children) {
      uint64_t at = 0;
      ForEachPiece(child.interval, [&](const Piece& piece) {
        runs.Add(SendsTo(root, piece), {Place::kScratch, 0, at}, piece.bytes);
        at += piece.bytes;
      });
      SendRuns(child.node, kDown, &runs, child.bytes);
      runs.Take();
    }
    ForEachPiece(Interval{position_, 1}, [&](const Piece& piece) {
      const uint32_t l = shape_.LocalIndexOf(Rank(piece.rank));
      if (call_.ranks[l].receives) runs.Add(SendsTo(root, piece), {Place::kRankRecv, l, piece.offset}, piece.bytes);
    });
    return out_.CopyRuns(runs.Take());
  }
  const Interval interval = Below(node_, parent);
  if (Goes(Bytes(interval))) out_.RecvFrom(parent, kDown);
  out_.Wait(kDown);
  for (const Link& child : children) {
    if (!Goes(child.bytes)) continue;
    const Buffer part{Place::kCell, parent, OffsetIn(interval, child.interval.begin)};
    out_.SendTo(child.node, kDown, child.bytes == 0 ? Buffer{} : part, static_cast<uint32_t>(child.bytes));
  }
  Buffer from{Place::kCell, parent, OffsetIn(interval, position_)};
  ForEachPiece(Interval{position_, 1}, [&](const Piece& piece) {
    runs.Add(from, {Place::kRankRecv, shape_.LocalIndexOf(Rank(piece.rank)), piece.offset}, piece.bytes);
    from.offset += piece.bytes;
  });
  if (children.empty() && IsPut(Bytes(interval))) return out_.Land(kDown, runs.Take());
  out_.CopyRuns(runs.Take());
}

Buffer BlockExpansion::GatherEverywhere() {
  const uint32_t top = plan_.root_node.value();
  const uint32_t parent = ParentTowards(top);
  const std::vector<Link> children = ChildrenBut(parent);
  AwaitChildren(children);
  RunList runs;
  Buffer whole{Place::kScratch};
  if (parent == kNobody) {
    Assemble({0, n_}, children, &runs);
    out_.CopyRuns(runs.Take());
  } else {
    const Interval interval = Below(node_, parent);
    Assemble(interval, children, &runs);
    SendRuns(parent, kUp, &runs, Bytes(interval));
    if (slice_.bytes() > 0) {
      out_.RecvFrom(parent, kDown);
      out_.Wait(kDown);
    }
    whole = {Place::kCell, parent};
  }
  for (const Link& child : children) {
    if (slice_.bytes() > 0) out_.SendTo(child.node, kDown, whole, static_cast<uint32_t>(slice_.bytes()));
  }
  return whole;
}

void BlockExpansion::AllgatherByTree() {
  const bool is_leaf = plan_.neighbours[node_].size() == 1 && plan_.root_node.value() != node_;
  const Buffer whole = GatherEverywhere();
  if (is_leaf && IsPut(slice_.bytes())) return LandAtAll({0, n_}, whole, kDown);
  DeliverToAll({0, n_}, whole);
}

// Runs an allreduce of the slice, then delivers each rank its block.
void BlockExpansion::ReduceScatterByPlan() {
  const NodeView view{.node = call_.node,
                      .local_ranks = static_cast<uint32_t>(own_ranks_.size()),
                      .root_node = plan_.root_node.value()};
  const NodeSequence whole = ExpandAs(Collective::kAllreduce, plan_, *call_.index, view);
  Buffer result{Place::kScratch};
  for (Primitive p : whole.primitives) {
    if (p.step == Step::kDeliver) result = p.operands[0];
    if (p.step == Step::kStart || p.step == Step::kEnd || p.step == Step::kDeliver || p.step == Step::kRelease ||
        p.step == Step::kRecvLocal) {
      continue;
    }
    for (Buffer& operand : p.operands) {
      if (operand.place == Place::kRankSend) operand.offset = slice_.begin;
    }
    p.bytes = SliceBytes();
    out_.Append(std::move(p));
  }
  if (result.place == Place::kRankSend) result.offset = slice_.begin;
  DeliverReduced(result);
}

NodeSequence ExpandNotes(const Plan& plan, const TreeIndex& index, NodeIndex node, uint32_t root_node,
                         uint32_t local_ranks, const Slice& slice) {
  SequenceBuilder out(plan, node);
  const uint32_t parent = index.Towards(node.value(), root_node);
  const Buffer notes{Place::kNotes, 0, slice.begin};
  Buffer from = notes;
  if (parent != kNobody) {
    out.RecvFrom(parent, kDown);
    from = {Place::kCell, parent};
  }
  out.Wait(kDown);
  for (const uint32_t v : plan.neighbours[node.value()]) {
    if (v != parent) out.SendTo(v, kDown, from, static_cast<uint32_t>(slice.bytes()));
  }
  if (parent != kNobody) out.CopyRuns({{from, notes, slice.bytes()}});
  for (uint32_t l = 0; l < local_ranks; ++l) out.Release(l);
  return out.End();
}

}  // namespace copse::schedule
