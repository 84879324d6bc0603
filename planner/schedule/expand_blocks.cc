// SPDX-License-Identifier: Apache-2.0
//
// Sequences of block collectives, an expansion each.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "planner/schedule/blocks.h"
#include "planner/schedule/sequence_builder.h"

namespace copse::schedule {
namespace {

constexpr uint16_t kUp = 0;
constexpr uint16_t kDown = 1;

// Positions [begin, begin + count) of the cycle.
struct Interval {
  uint32_t begin = 0;
  uint32_t count = 0;
};

// Part of a rank's block that is in the slice.
struct Piece {
  uint32_t rank = 0;
  uint64_t offset = 0;  // into the block
  uint64_t bytes = 0;
};

// A list of copies in which what lies together at both ends is one run: the paper's message chains.
class RunList {
 public:
  void Add(Buffer from, Buffer to, uint64_t bytes) {
    // The engine copies a run in one go.
    for (; bytes > kRunBytesMax; bytes -= kRunBytesMax) {
      runs_.push_back({from, to, kRunBytesMax});
      from.offset += kRunBytesMax;
      to.offset += kRunBytesMax;
    }
    if (bytes == 0) return;
    if (!runs_.empty()) {
      CopyRun& last = runs_.back();
      if (last.bytes + bytes <= kRunBytesMax && Follows(last.from, from, last.bytes) &&
          Follows(last.to, to, last.bytes)) {
        last.bytes += bytes;
        return;
      }
    }
    runs_.push_back({from, to, bytes});
  }
  bool empty() const { return runs_.empty(); }
  std::vector<CopyRun> Take() { return std::exchange(runs_, {}); }
  const std::vector<CopyRun>& runs() const { return runs_; }

 private:
  static constexpr uint64_t kRunBytesMax = 64 * 1024;
  static bool Follows(const Buffer& a, const Buffer& b, uint64_t bytes) {
    return a.place == b.place && a.index == b.index && a.offset + bytes == b.offset;
  }
  std::vector<CopyRun> runs_;
};

class Expansion {
 public:
  Expansion(const BlockCall& call, const Slice& slice)
      : call_(call),
        plan_(*call.plan),
        sizes_(*call.sizes),
        order_(sizes_.order()),
        shape_(sizes_.shape()),
        slice_(slice),
        node_(call.node.value()),
        own_ranks_(shape_.RanksOf(call.node)),
        n_(plan_.node_count),
        position_(order_.PositionOf(node_)),
        out_(plan_, call.node) {}

  absl::StatusOr<NodeSequence> Run() {
    switch (call_.collective) {
      case Collective::kGather:
        Gather();
        break;
      case Collective::kScatter:
        Scatter();
        break;
      case Collective::kAllgather:
        if (plan_.kind == PlanKind::kTree) {
          AllgatherByTree();
        } else if (DistancesOf(plan_).size() <= 1) {
          AllgatherByRing();
        } else {
          AllgatherByDoubling();
        }
        break;
      case Collective::kReduceScatter:
        if (plan_.kind == PlanKind::kCirculant) {
          ReduceScatterByRing();
        } else {
          ReduceScatterByPlan();
        }
        break;
      case Collective::kScan:
      case Collective::kExscan:
        if (FoldsAll(plan_)) {
          RETURN_IF_ERROR(ScanByFolding());
        } else if (DistancesOf(plan_).size() <= 1) {
          ScanByChain();
        } else {
          ScanByDoubling();
        }
        break;
      case Collective::kAlltoall:
        Alltoall();
        break;
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("no block collective (collective=", static_cast<int>(call_.collective), ")"));
    }
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) out_.Release(l);
    return out_.End();
  }

 private:
  // --- Intervals of packed blocks, as far as they are in the slice ---

  uint64_t Clip(uint64_t at) const { return std::clamp(at, slice_.begin, slice_.end) - slice_.begin; }
  uint64_t Bytes(const Interval& interval) const {
    const uint32_t end = interval.begin + interval.count;
    const uint64_t begin = Clip(sizes_.PackedBegin(interval.begin));
    if (end <= n_) return Clip(sizes_.PackedBegin(end)) - begin;
    return slice_.bytes() - begin + Clip(sizes_.PackedBegin(end - n_));
  }
  // Of `inner`, which begins in `outer`, in outer's message.
  uint64_t OffsetIn(const Interval& outer, uint32_t begin) const {
    return Bytes({outer.begin, (begin + n_ - outer.begin) % n_});
  }

  // Calls f(piece) for packed bytes [begin, end).
  template <typename F>
  void ForEachPiece(uint64_t begin, uint64_t end, F f) const {
    if (begin >= end) return;
    // The last position that begins at or before `begin`.
    uint32_t low = 0;
    uint32_t high = n_;
    while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      (sizes_.PackedBegin(middle) <= begin ? low : high) = middle;
    }
    for (uint32_t p = low; p < n_ && sizes_.PackedBegin(p) < end; ++p) {
      uint64_t at = sizes_.PackedBegin(p);
      for (const Rank r : shape_.RanksOf(NodeIndex(order_.NodeAt(p)))) {
        const uint64_t bytes = sizes_.Of(r.value());
        const uint64_t from = std::max(at, begin);
        const uint64_t to = std::min(at + bytes, end);
        if (from < to) f(Piece{r.value(), from - at, to - from});
        at += bytes;
        if (at >= end) return;
      }
    }
  }
  template <typename F>
  void ForEachPiece(const Interval& interval, F f) const {
    const uint32_t end = interval.begin + interval.count;
    const uint64_t begin = std::max(slice_.begin, sizes_.PackedBegin(interval.begin));
    if (end <= n_) return ForEachPiece(begin, std::min(slice_.end, sizes_.PackedBegin(end)), f);
    ForEachPiece(begin, slice_.end, f);
    ForEachPiece(slice_.begin, std::min(slice_.end, sizes_.PackedBegin(end - n_)), f);
  }

  // What is below the link from `node` to `towards`, seen from there; all for kNobody.
  Interval Below(uint32_t node, uint32_t towards) const {
    const TreeIndex& index = *call_.index;
    if (towards == kNobody) return {0, n_};
    if (index.Parent(node) == towards) return {index.Enter(node), index.Leave(node) - index.Enter(node)};
    // All but what is below `towards`.
    const uint32_t enter = index.Enter(towards);
    const uint32_t leave = index.Leave(towards);
    return {leave % n_, n_ - (leave - enter)};
  }

  // --- Ranks' buffers ---

  Buffer Sends(uint32_t local, uint64_t offset) const { return {Place::kRankSend, local, offset}; }
  // Where the piece of `piece.rank`'s block lies in the buffers of local rank `local` that have a block a rank.
  Buffer SendsTo(uint32_t local, const Piece& piece) const {
    const BlockList* list = call_.ranks[local].send;
    const uint64_t base = list != nullptr ? (*list)[piece.rank].offset : piece.rank * sizes_.Of(piece.rank);
    return {Place::kRankSend, local, base + piece.offset};
  }
  Buffer ReceivesFrom(uint32_t local, const Piece& piece) const {
    const BlockList* list = call_.ranks[local].receive;
    const uint64_t base = list != nullptr ? (*list)[piece.rank].offset : piece.rank * sizes_.Of(piece.rank);
    return {Place::kRankRecv, local, base + piece.offset};
  }
  bool IsHere(uint32_t rank) const { return shape_.NodeOf(Rank(rank)).value() == node_; }

  // To local rank `local`'s receive buffer: the pieces of the interval, which lie in `from` one after another.
  void Deliver(uint32_t local, const Interval& interval, Buffer from, RunList* runs) const {
    ForEachPiece(interval, [&](const Piece& piece) {
      const bool own = own_ranks_[local].value() == piece.rank && !call_.ranks[local].sends;
      if (!own) runs->Add(from, ReceivesFrom(local, piece), piece.bytes);
      from.offset += piece.bytes;
    });
  }
  // The contributions of the own ranks to `to`, one after another.
  void PackOwn(Buffer to, RunList* runs) const {
    ForEachPiece(Interval{position_, 1}, [&](const Piece& piece) {
      runs->Add(Sends(shape_.LocalIndexOf(Rank(piece.rank)), send_base_ + piece.offset), to, piece.bytes);
      to.offset += piece.bytes;
    });
  }
  // Sends what the runs would bring together in scratch: from where it lies if that is one place.
  void SendRuns(uint32_t peer, uint16_t phase, RunList* runs, uint64_t bytes) {
    if (bytes == 0) return;
    if (runs->runs().size() == 1) {
      out_.SendTo(peer, phase, runs->runs()[0].from, static_cast<uint32_t>(bytes));
      return;
    }
    out_.CopyRuns(runs->Take());
    out_.SendTo(peer, phase, {Place::kScratch}, static_cast<uint32_t>(bytes));
  }

  // --- Trees ---

  struct Link {
    uint32_t node;
    Interval interval;
    uint64_t bytes;
  };
  // Neighbours but `parent`, with what is below them.
  std::vector<Link> ChildrenBut(uint32_t parent) const {
    std::vector<Link> children;
    for (const uint32_t v : plan_.neighbours[node_]) {
      if (v == parent) continue;
      const Interval interval = Below(v, node_);
      children.push_back({v, interval, Bytes(interval)});
    }
    return children;
  }
  uint32_t ParentTowards(uint32_t root_node) const { return call_.index->Towards(node_, root_node); }
  uint32_t RootNode() const { return shape_.NodeOf(Rank(call_.root)).value(); }

  void AwaitChildren(const std::vector<Link>& children) {
    for (const Link& child : children) {
      if (child.bytes > 0) out_.RecvFrom(child.node, kUp);
    }
    out_.Wait(kUp);
  }
  // Own blocks and the children's, in the interval's order, to scratch.
  void Assemble(const Interval& interval, const std::vector<Link>& children, RunList* runs) const {
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

  void Gather() {
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
    ForEachPiece(Interval{position_, 1}, [&](const Piece& piece) {
      const uint32_t l = shape_.LocalIndexOf(Rank(piece.rank));
      if (l == root && !call_.ranks[l].sends) return;
      runs.Add(Sends(l, piece.offset), ReceivesFrom(root, piece), piece.bytes);
    });
    for (const Link& child : children) {
      if (child.bytes > 0) Deliver(root, child.interval, {Place::kCell, child.node}, &runs);
    }
    out_.CopyRuns(runs.Take());
  }

  void Scatter() {
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
    const bool any = Bytes(interval) > 0;
    if (any) out_.RecvFrom(parent, kDown);
    out_.Wait(kDown);
    for (const Link& child : children) {
      if (child.bytes == 0) continue;
      out_.SendTo(child.node, kDown, {Place::kCell, parent, OffsetIn(interval, child.interval.begin)},
                  static_cast<uint32_t>(child.bytes));
    }
    Buffer from{Place::kCell, parent, OffsetIn(interval, position_)};
    ForEachPiece(Interval{position_, 1}, [&](const Piece& piece) {
      runs.Add(from, {Place::kRankRecv, shape_.LocalIndexOf(Rank(piece.rank)), piece.offset}, piece.bytes);
      from.offset += piece.bytes;
    });
    out_.CopyRuns(runs.Take());
  }

  // Up to the plan's root node and, whole, down again. Returns where the slice lies here.
  Buffer GatherEverywhere() {
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

  void DeliverToAll(const Interval& interval, Buffer from) {
    RunList runs;
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) Deliver(l, interval, from, &runs);
    out_.CopyRuns(runs.Take());
  }

  void AllgatherByTree() { DeliverToAll({0, n_}, GatherEverywhere()); }

  // --- Cycles ---

  uint32_t At(uint32_t distance) const { return order_.NodeAt((position_ + distance) % n_); }
  uint32_t Before(uint32_t distance) const { return order_.NodeAt((position_ + n_ - distance) % n_); }
  Interval Preceding(uint32_t from, uint32_t count) const { return {(from + n_ - count + 1) % n_, count}; }

  // The segment's owner sends it round the ring.
  void AllgatherByRing() {
    if (slice_.bytes() == 0) return out_.Wait(kDown);
    uint32_t owner = 0;
    ForEachPiece(slice_.begin, slice_.begin + 1,
                 [&](const Piece& piece) { owner = order_.PositionOf(shape_.NodeOf(Rank(piece.rank)).value()); });
    const uint32_t distance = (position_ + n_ - owner) % n_;
    Buffer from{Place::kScratch};
    const auto bytes = static_cast<uint32_t>(slice_.bytes());
    if (distance == 0) {
      out_.Wait(kDown);
      RunList runs;
      PackOwn(from, &runs);
      if (runs.runs().size() == 1) {
        from = runs.runs()[0].from;
      } else {
        out_.CopyRuns(runs.Take());
      }
    } else {
      from = {Place::kCell, Before(1)};
      out_.RecvFrom(Before(1), kDown);
      out_.Wait(kDown);
    }
    if (distance + 1 < n_) out_.SendTo(At(1), kDown, from, bytes);
    DeliverToAll({owner, 1}, from);
  }

  // After the rounds of distances 1, 2, ..., s a node has the blocks of 2 s nodes: its own and those before it, in
  // scratch by falling position.
  void AllgatherByDoubling() {
    out_.Wait(0);
    RunList runs;
    PackOwn({Place::kScratch}, &runs);
    out_.CopyRuns(runs.Take());
    uint16_t round = 0;
    for (const uint32_t s : DistancesOf(plan_)) {
      ++round;
      const uint32_t count = std::min(s, n_ - s);
      const uint64_t sends = Bytes(Preceding(position_, count));
      const uint32_t peer = (position_ + n_ - s) % n_;
      const uint64_t receives = Bytes(Preceding(peer, count));
      if (sends > 0) out_.SendTo(At(s), round, {Place::kScratch}, static_cast<uint32_t>(sends));
      if (receives == 0) continue;
      out_.RecvFrom(Before(s), round);
      out_.Wait(round);
      runs.Add({Place::kCell, Before(s)}, {Place::kScratch, 0, Bytes(Preceding(position_, s))}, receives);
      out_.CopyRuns(runs.Take());
    }
    uint64_t at = 0;
    for (uint32_t d = 0; d < n_; ++d) {
      const Interval interval{(position_ + n_ - d) % n_, 1};
      for (uint32_t l = 0; l < own_ranks_.size(); ++l) Deliver(l, interval, {Place::kScratch, 0, at}, &runs);
      at += Bytes(interval);
    }
    out_.CopyRuns(runs.Take());
  }

  // --- Reductions ---

  // What of the slice, by rank, is the blocks of the own ranks, from `from`, where the slice begins.
  void DeliverReduced(Buffer from) {
    RunList runs;
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
      const uint64_t begin = sizes_.RankBegin(own_ranks_[l].value());
      const uint64_t end = begin + sizes_.Of(own_ranks_[l].value());
      const uint64_t low = std::max(begin, slice_.begin);
      const uint64_t high = std::min(end, slice_.end);
      if (low >= high) continue;
      Buffer source = from;
      source.offset += low - slice_.begin;
      runs.Add(source, {Place::kRankRecv, l, low - begin}, high - low);
    }
    out_.CopyRuns(runs.Take());
  }
  std::vector<Buffer> OwnOperands() const {
    std::vector<Buffer> operands;
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) operands.push_back(Sends(l, slice_.begin));
    return operands;
  }
  uint32_t SliceBytes() const { return static_cast<uint32_t>(slice_.bytes()); }

  // As an allreduce of the slice, of which each rank gets its block.
  void ReduceScatterByPlan() {
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

  // The segment travels round the ring to its owner, and everybody adds its own on the way.
  void ReduceScatterByRing() {
    if (slice_.bytes() == 0) return out_.Wait(kUp);
    uint32_t owner_rank = 0;
    uint32_t high = shape_.size();
    while (high - owner_rank > 1) {
      const uint32_t middle = owner_rank + (high - owner_rank) / 2;
      (sizes_.RankBegin(middle) <= slice_.begin ? owner_rank : high) = middle;
    }
    const uint32_t owner = order_.PositionOf(shape_.NodeOf(Rank(owner_rank)).value());
    const uint32_t distance = (position_ + n_ - owner) % n_;  // 1 begins, n - 1 is last but the owner
    std::vector<Buffer> operands = OwnOperands();
    if (n_ > 1 && distance != 1) {
      out_.RecvFrom(Before(1), kUp);
      operands.insert(operands.begin(), Buffer{Place::kCell, Before(1)});
    }
    out_.Wait(kUp);
    Buffer result = operands[0];
    if (operands.size() > 1) {
      result = {Place::kScratch};
      out_.Reduce(std::move(operands), result, SliceBytes());
    }
    if (distance != 0) return out_.SendTo(At(1), kUp, result, SliceBytes());
    DeliverReduced(result);
  }

  // --- Prefixes ---

  bool inclusive() const { return call_.collective == Collective::kScan; }

  // To the own ranks, from what all ranks before this node amount to (kNone: there are none). Leaves the sum of all up
  // to here at `running`.
  void DeliverPrefixes(Buffer before, Buffer running) {
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
      const Buffer own = Sends(l, slice_.begin);
      const Buffer result{Place::kRankRecv, l, slice_.begin};
      RunList runs;
      if (!inclusive() && before.place != Place::kNone) {
        // In place the result would overwrite what is still to be added.
        out_.Reduce({before, own}, {Place::kScratch, 0, kOtherHalf}, SliceBytes());
        runs.Add(before, result, slice_.bytes());
        runs.Add({Place::kScratch, 0, kOtherHalf}, running, slice_.bytes());
        out_.CopyRuns(runs.Take());
      } else {
        if (before.place == Place::kNone) {
          runs.Add(own, running, slice_.bytes());
          out_.CopyRuns(runs.Take());
        } else {
          out_.Reduce({before, own}, running, SliceBytes());
        }
        if (inclusive()) {
          runs.Add(running, result, slice_.bytes());
          out_.CopyRuns(runs.Take());
        }
      }
      before = running;
    }
  }

  void ScanByChain() {
    Buffer before;
    if (position_ > 0) {
      out_.RecvFrom(Before(1), kDown);
      before = {Place::kCell, Before(1)};
    }
    out_.Wait(kDown);
    const Buffer running{Place::kScratch};
    DeliverPrefixes(before, running);
    if (position_ + 1 < n_) out_.SendTo(At(1), kDown, running, SliceBytes());
  }

  // After the rounds of distances 1 to s, `window` is the sum of the 2 s nodes up to this one, `before` without it.
  void ScanByDoubling() {
    out_.Wait(0);
    const Buffer window{Place::kScratch};
    const Buffer before{Place::kScratch, 0, kThird};
    std::vector<Buffer> operands = OwnOperands();
    out_.Reduce(std::move(operands), window, SliceBytes());
    bool has_before = false;
    uint16_t round = 0;
    for (const uint32_t s : DistancesOf(plan_)) {
      ++round;
      if (position_ + s < n_) out_.SendTo(At(s), round, window, SliceBytes());
      if (position_ < s) continue;
      const Buffer cell{Place::kCell, Before(s)};
      out_.RecvFrom(Before(s), round);
      out_.Wait(round);
      if (has_before) {
        out_.Reduce({cell, before}, before, SliceBytes());
      } else {
        RunList runs;
        runs.Add(cell, before, slice_.bytes());
        out_.CopyRuns(runs.Take());
      }
      has_before = true;
      out_.Reduce({cell, window}, window, SliceBytes());
    }
    DeliverPrefixes(has_before ? before : Buffer{}, window);
  }

  // Every node gets all contributions, and adds them up in order of ranks for its own.
  absl::Status ScanByFolding() {
    const uint64_t each = slice_.bytes();
    if (each == 0) {
      out_.Wait(kUp);
      return absl::OkStatus();
    }
    if (each * shape_.size() > kSegmentBytesMax) {
      return absl::UnimplementedError(
          absl::StrCat("scan: ranks' order is not the nodes', and they are too many (ranks=", shape_.size(),
                       ", bytes=", each, ", limit=", kSegmentBytesMax, " bytes together)"));
    }
    // The packed slices of all ranks are gathered as equal blocks.
    const BlockSizes equal(&order_, &shape_, each);
    BlockCall gather = call_;
    gather.sizes = &equal;
    Expansion all(gather, {0, equal.total()});
    all.send_base_ = slice_.begin;
    const Buffer packed = all.GatherEverywhere();
    out_ = std::move(all.out_);
    // Where rank r's slice lies.
    std::vector<uint64_t> offset(shape_.size());
    uint64_t at = 0;
    for (uint32_t p = 0; p < n_; ++p) {
      for (const Rank r : shape_.RanksOf(NodeIndex(order_.NodeAt(p)))) {
        offset[r.value()] = at;
        at += each;
      }
    }
    // The gathered slices may lie in scratch: sums lie behind them.
    const Buffer running{Place::kScratch, 0, kOtherHalf};
    const auto part = [&](uint32_t r) {
      Buffer b = packed;
      b.offset += offset[r];
      return b;
    };
    Buffer before;
    RunList runs;
    for (uint32_t r = 0; r < shape_.size(); ++r) {
      const bool here = IsHere(r);
      const uint32_t l = here ? shape_.LocalIndexOf(Rank(r)) : 0;
      const Buffer result{Place::kRankRecv, l, slice_.begin};
      if (here && !inclusive() && before.place != Place::kNone) {
        runs.Add(before, result, each);
        out_.CopyRuns(runs.Take());
      }
      if (before.place == Place::kNone) {
        runs.Add(part(r), running, each);
        out_.CopyRuns(runs.Take());
      } else {
        out_.Reduce({before, part(r)}, running, static_cast<uint32_t>(each));
      }
      before = running;
      if (here && inclusive()) {
        runs.Add(running, result, each);
        out_.CopyRuns(runs.Take());
      }
    }
    return absl::OkStatus();
  }

  // --- Everybody to everybody ---

  uint64_t BlockTo(uint32_t local, uint32_t rank) const {
    const BlockList* list = call_.ranks[local].send;
    return list != nullptr ? (*list)[rank].bytes : call_.block_bytes;
  }
  uint64_t BlockFrom(uint32_t local, uint32_t rank) const {
    const BlockList* list = call_.ranks[local].receive;
    return list != nullptr ? (*list)[rank].bytes : call_.block_bytes;
  }
  Buffer PlaceTo(uint32_t local, uint32_t rank, uint64_t offset) const {
    const BlockList* list = call_.ranks[local].send;
    return {Place::kRankSend, local, (list != nullptr ? (*list)[rank].offset : rank * call_.block_bytes) + offset};
  }
  Buffer PlaceFrom(uint32_t local, uint32_t rank, uint64_t offset) const {
    const BlockList* list = call_.ranks[local].receive;
    return {Place::kRankRecv, local, (list != nullptr ? (*list)[rank].offset : rank * call_.block_bytes) + offset};
  }

  // The part [from, to) of [at, at + bytes) that is in the slice; f(offset in the block, bytes).
  template <typename F>
  void InSlice(uint64_t at, uint64_t bytes, F f) const {
    const uint64_t low = std::max(at, slice_.begin);
    const uint64_t high = std::min(at + bytes, slice_.end);
    if (low < high) f(low - at, high - low);
  }

  // A stream is the blocks of the one node's ranks for the other's, by sender and then by receiver; a note before them.
  void Alltoall() {
    const uint64_t note_bytes = call_.has_notes && slice_.begin == 0 ? sizeof(PairNote) : 0;
    std::vector<std::pair<uint32_t, uint64_t>> awaited;
    RunList runs;
    for (uint32_t d = 1; d < n_; ++d) {
      const uint64_t bytes = ReceivedFrom(Before(d), nullptr) + note_bytes;
      if (bytes > 0) awaited.emplace_back(d, bytes);
    }
    out_.Wait(kUp);
    for (uint32_t d = 1; d < n_; ++d) {
      const uint32_t to = At(d);
      uint64_t at = note_bytes;
      if (note_bytes > 0) {
        runs.Add({Place::kNotes, 0, order_.PositionOf(to) * sizeof(PairNote)}, {Place::kScratch}, note_bytes);
      }
      uint64_t stream = 0;
      for (uint32_t l = 0; l < own_ranks_.size() && stream < slice_.end; ++l) {
        for (const Rank r : shape_.RanksOf(NodeIndex(to))) {
          const uint64_t bytes = BlockTo(l, r.value());
          InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
            runs.Add(PlaceTo(l, r.value(), offset), {Place::kScratch, 0, at}, length);
            at += length;
          });
          stream += bytes;
        }
      }
      SendRuns(to, kDown, &runs, at);
      runs.Take();
    }
    // Among themselves.
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
      for (uint32_t m = 0; m < own_ranks_.size(); ++m) {
        // Local blocks have no stream; they go with the first segment.
        if (slice_.begin > 0) break;
        const uint32_t to = own_ranks_[m].value();
        const uint64_t bytes = std::min(BlockTo(l, to), BlockFrom(m, own_ranks_[l].value()));
        runs.Add(PlaceTo(l, to, 0), PlaceFrom(m, own_ranks_[l].value(), 0), bytes);
      }
    }
    out_.CopyRuns(runs.Take());
    if (awaited.empty()) return;
    for (const auto& [d, bytes] : awaited) out_.RecvFrom(Before(d), kDown);
    out_.Wait(kDown);
    for (const auto& [d, bytes] : awaited) {
      const uint32_t from = Before(d);
      if (note_bytes > 0) {
        runs.Add({Place::kCell, from}, {Place::kNotes, 0, (n_ + order_.PositionOf(from)) * sizeof(PairNote)},
                 note_bytes);
      }
      ReceivedFrom(from, &runs, note_bytes);
    }
    out_.CopyRuns(runs.Take());
  }
  // Bytes of the slice from the node, and the copies from its cell to the ranks, if asked for.
  uint64_t ReceivedFrom(uint32_t from, RunList* runs, uint64_t cell_offset = 0) const {
    uint64_t stream = 0;
    uint64_t total = 0;
    for (const Rank s : shape_.RanksOf(NodeIndex(from))) {
      for (uint32_t l = 0; l < own_ranks_.size() && stream < slice_.end; ++l) {
        const uint64_t bytes = BlockFrom(l, s.value());
        InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
          if (runs != nullptr) {
            runs->Add({Place::kCell, from, cell_offset + total}, PlaceFrom(l, s.value(), offset), length);
          }
          total += length;
        });
        stream += bytes;
      }
    }
    return total;
  }

  // Sums that lie in scratch behind all segments of a chunk.
  static constexpr uint64_t kOtherHalf = kScanSegmentsMax * uint64_t{kSegmentBytesMax};
  static constexpr uint64_t kThird = 2 * kOtherHalf;

  const BlockCall& call_;
  const Plan& plan_;
  const BlockSizes& sizes_;
  const PackedOrder& order_;
  const ShapeIndex& shape_;
  const Slice slice_;
  const uint32_t node_;
  const absl::Span<const Rank> own_ranks_;
  const uint32_t n_;
  const uint32_t position_;
  uint64_t send_base_ = 0;
  SequenceBuilder out_;
};

PairNote NoteOfLists(const std::vector<uint64_t>& bytes) {
  PairNote note{.bytes = 0, .counts_hash = HashCounts(bytes), .bytes_max = 0};
  for (const uint64_t b : bytes) note.bytes += b;
  return note;
}

}  // namespace

absl::StatusOr<NodeSequence> ExpandBlocks(const BlockCall& call, const Slice& slice) {
  return Expansion(call, slice).Run();
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

PairNote NoteOf(const BlockCall& call, uint32_t to) {
  const PackedOrder& order = call.sizes->order();
  std::vector<uint64_t> bytes;
  for (const RankBuffers& rank : call.ranks) {
    for (const Rank r : call.sizes->shape().RanksOf(NodeIndex(order.NodeAt(to)))) {
      bytes.push_back((*rank.send)[r.value()].bytes);
    }
  }
  return NoteOfLists(bytes);
}

PairNote NoteExpected(const BlockCall& call, uint32_t from) {
  const PackedOrder& order = call.sizes->order();
  std::vector<uint64_t> bytes;
  for (const Rank r : call.sizes->shape().RanksOf(NodeIndex(order.NodeAt(from)))) {
    for (const RankBuffers& rank : call.ranks) bytes.push_back((*rank.receive)[r.value()].bytes);
  }
  return NoteOfLists(bytes);
}

}  // namespace copse::schedule
