// SPDX-License-Identifier: Apache-2.0
//
// Expands block collectives, and the broadcast of counts, along trees.
#include <algorithm>
#include <utility>

#include "schedule/block_expansion.h"

namespace copse::schedule {
namespace {

class TreeExpansion : BlockExpansion {
 public:
  TreeExpansion(const BlockCall& call, const Slice& slice, uint64_t send_base = 0) : BlockExpansion(call, slice) {
    send_base_ = send_base;
  }

  NodeSequence Run() {
    switch (call_.collective) {
      case Collective::kGather:
        Gather();
        break;
      case Collective::kScatter:
        Scatter();
        break;
      case Collective::kAllgather:
        Allgather();
        break;
      default:
        ReduceScatter();
        break;
    }
    return End();
  }

  Buffer GatherEverywhere();
  SequenceBuilder TakeSteps() { return std::move(out_); }

 private:
  // A Branch is a child, with the interval of the nodes in its subtree and their bytes in the slice.
  struct Branch {
    uint32_t node;
    Interval interval;
    uint64_t bytes;
  };

  // Returns the interval of the nodes on `node`'s side of the link to its neighbor `towards`; all nodes if that is
  // kNobody.
  Interval Below(uint32_t node, uint32_t towards) const;
  // Returns the offset of the blocks of position `begin` in a message with the blocks of `outer`.
  uint64_t OffsetIn(const Interval& outer, uint32_t begin) const {
    return Bytes({outer.begin, (begin + n_ - outer.begin) % n_});
  }
  std::vector<Branch> ChildrenBut(uint32_t parent) const;
  uint32_t ParentTowards(uint32_t root_node) const { return call_.index->Towards(node_, root_node); }
  uint32_t RootNode() const { return shape_.NodeOf(Rank(call_.root)).value(); }
  void AwaitChildren(const std::vector<Branch>& children);
  // Adds the copies that pack the node's and its children's blocks in scratch, in the interval's order.
  void Assemble(const Interval& interval, const std::vector<Branch>& children, RunList* runs) const;

  void Gather();
  void Scatter();
  void Allgather();
  void ReduceScatter();
};

TreeExpansion::Interval TreeExpansion::Below(uint32_t node, uint32_t towards) const {
  const TreeIndex& index = *call_.index;
  if (towards == kNobody) return {0, n_};
  if (index.Parent(node) == towards) return {index.Enter(node), index.Leave(node) - index.Enter(node)};
  // `towards` is a child of `node`, so the interval is all nodes except those in the subtree of `towards`.
  const uint32_t enter = index.Enter(towards);
  const uint32_t leave = index.Leave(towards);
  return {leave % n_, n_ - (leave - enter)};
}

std::vector<TreeExpansion::Branch> TreeExpansion::ChildrenBut(uint32_t parent) const {
  std::vector<Branch> children;
  for (const uint32_t v : plan_.neighbors[node_]) {
    if (v == parent) continue;
    const Interval interval = Below(v, node_);
    children.push_back({v, interval, Bytes(interval)});
  }
  return children;
}

void TreeExpansion::AwaitChildren(const std::vector<Branch>& children) {
  for (const Branch& child : children) {
    if (Goes(child.bytes)) out_.RecvFrom(child.node, kUp, child.bytes);
  }
  out_.Wait(kUp);
}

void TreeExpansion::Assemble(const Interval& interval, const std::vector<Branch>& children, RunList* runs) const {
  std::vector<std::pair<uint64_t, const Branch*>> parts = {{OffsetIn(interval, position_), nullptr}};
  for (const Branch& child : children) {
    if (child.bytes > 0) parts.emplace_back(OffsetIn(interval, child.interval.begin), &child);
  }
  std::sort(parts.begin(), parts.end());
  for (const auto& [offset, child] : parts) {
    const Buffer to{Place::kScratch, 0, offset};
    child == nullptr ? PackOwn(to, runs) : runs->Add({Place::kCell, child->node}, to, child->bytes);
  }
}

void TreeExpansion::Gather() {
  const uint32_t parent = ParentTowards(RootNode());
  const std::vector<Branch> children = ChildrenBut(parent);
  AwaitChildren(children);
  RunList runs;
  if (parent != kNobody) {
    const Interval interval = Below(node_, parent);
    Assemble(interval, children, &runs);
    return SendRuns(parent, kUp, &runs, Bytes(interval));
  }
  const uint32_t root = shape_.LocalIndexOf(Rank(call_.root));
  RunList landing;
  ForEachRange(Interval{position_, 1}, [&](const BlockRange& range) {
    const uint32_t l = shape_.LocalIndexOf(Rank(range.rank));
    if (l == root && !call_.ranks[l].sends) return;
    runs.Add(Sends(l, range.offset), PlaceFrom(root, range.rank, range.offset), range.bytes);
  });
  for (const Branch& child : children) {
    if (child.bytes == 0) continue;
    Deliver(root, child.interval, {Place::kCell, child.node}, IsPut(child.bytes) ? &landing : &runs);
    out_.Land(kUp, landing.Take());
  }
  Copy(&runs);
}

void TreeExpansion::Scatter() {
  const uint32_t parent = ParentTowards(RootNode());
  const std::vector<Branch> children = ChildrenBut(parent);
  RunList runs;
  if (parent == kNobody) {
    out_.Wait(kDown);
    const uint32_t root = shape_.LocalIndexOf(Rank(call_.root));
    for (const Branch& child : children) {
      uint64_t at = 0;
      ForEachRange(child.interval, [&](const BlockRange& range) {
        runs.Add(PlaceTo(root, range.rank, range.offset), {Place::kScratch, 0, at}, range.bytes);
        at += range.bytes;
      });
      SendRuns(child.node, kDown, &runs, child.bytes);
    }
    ForEachRange(Interval{position_, 1}, [&](const BlockRange& range) {
      const uint32_t l = shape_.LocalIndexOf(Rank(range.rank));
      if (!call_.ranks[l].receives) return;
      runs.Add(PlaceTo(root, range.rank, range.offset), {Place::kRankRecv, l, range.offset}, range.bytes);
    });
    return Copy(&runs);
  }
  const Interval interval = Below(node_, parent);
  if (Goes(Bytes(interval))) out_.RecvFrom(parent, kDown, Bytes(interval));
  out_.Wait(kDown);
  for (const Branch& child : children) {
    if (!Goes(child.bytes)) continue;
    const Buffer part{Place::kCell, parent, OffsetIn(interval, child.interval.begin)};
    out_.SendTo(child.node, kDown, child.bytes == 0 ? Buffer{} : part, static_cast<uint32_t>(child.bytes));
  }
  Buffer from{Place::kCell, parent, OffsetIn(interval, position_)};
  ForEachRange(Interval{position_, 1}, [&](const BlockRange& range) {
    runs.Add(from, {Place::kRankRecv, shape_.LocalIndexOf(Rank(range.rank)), range.offset}, range.bytes);
    from.offset += range.bytes;
  });
  children.empty() && IsPut(Bytes(interval)) ? out_.Land(kDown, runs.Take()) : Copy(&runs);
}

Buffer TreeExpansion::GatherEverywhere() {
  const uint32_t parent = ParentTowards(plan_.root_node.value());
  const std::vector<Branch> children = ChildrenBut(parent);
  AwaitChildren(children);
  RunList runs;
  const Interval interval = Below(node_, parent);
  Assemble(interval, children, &runs);
  Buffer whole{Place::kScratch};
  if (parent == kNobody) {
    Copy(&runs);
  } else {
    SendRuns(parent, kUp, &runs, Bytes(interval));
    if (slice_.bytes() > 0) {
      out_.RecvFrom(parent, kDown, SliceBytes());
      out_.Wait(kDown);
    }
    whole = {Place::kCell, parent};
  }
  for (const Branch& child : children) {
    if (slice_.bytes() > 0) out_.SendTo(child.node, kDown, whole, SliceBytes());
  }
  return whole;
}

void TreeExpansion::Allgather() {
  const bool is_leaf = plan_.neighbors[node_].size() == 1 && plan_.root_node.value() != node_;
  DeliverToAll({0, n_}, GatherEverywhere(), is_leaf && IsPut(slice_.bytes()));
}

// Runs an allreduce of the slice, then delivers each rank its block.
void TreeExpansion::ReduceScatter() {
  const NodeView view{.node = call_.node,
                      .local_ranks = static_cast<uint32_t>(own_ranks_.size()),
                      .root_node = plan_.root_node.value()};
  const NodeSequence whole = ExpandAs(Collective::kAllreduce, plan_, *call_.index, view);
  Buffer result{Place::kScratch};
  for (Primitive p : whole.primitives) {
    for (Buffer& operand : p.operands) {
      if (operand.place == Place::kRankSend) operand.offset = slice_.begin;
    }
    if (p.step == Step::kDeliver) result = p.operands[0];
    if (p.step == Step::kStart || p.step == Step::kEnd || p.step == Step::kDeliver || p.step == Step::kRelease ||
        p.step == Step::kRecvLocal) {
      continue;
    }
    p.bytes = SliceBytes();
    out_.Append(std::move(p));
  }
  DeliverReduced(result);
}

}  // namespace

NodeSequence ExpandOnTree(const BlockCall& call, const Slice& slice) { return TreeExpansion(call, slice).Run(); }

std::pair<Buffer, SequenceBuilder> GatherEverywhere(const BlockCall& call, const Slice& slice, uint64_t send_base) {
  TreeExpansion expansion(call, slice, send_base);
  const Buffer whole = expansion.GatherEverywhere();
  return {whole, expansion.TakeSteps()};
}

NodeSequence ExpandNotes(const Plan& plan, const TreeIndex& index, NodeIndex node, uint32_t root_node,
                         uint32_t local_ranks, const Slice& slice) {
  SequenceBuilder out(plan, node);
  const uint32_t parent = index.Towards(node.value(), root_node);
  const Buffer notes{Place::kNotes, 0, slice.begin};
  Buffer from = notes;
  if (parent != kNobody) {
    out.RecvFrom(parent, kDown, slice.bytes());
    from = {Place::kCell, parent};
  }
  out.Wait(kDown);
  for (const uint32_t v : plan.neighbors[node.value()]) {
    if (v != parent) out.SendTo(v, kDown, from, static_cast<uint32_t>(slice.bytes()));
  }
  if (parent != kNobody) out.CopyRuns({{from, notes, slice.bytes()}});
  for (uint32_t l = 0; l < local_ranks; ++l) out.Release(l);
  return out.End();
}

}  // namespace copse::schedule
