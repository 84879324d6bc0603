// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/fragmentation.h"

#include <algorithm>
#include <map>

#include "client/port/arguments.h"
#include "protocol/ring_layout.h"

namespace copse::tnbc {
namespace {

// This is the size of a page on most machines. Where pages are larger, calls do not return early
// (PendingCall::Prepare).
constexpr uint64_t kEdgeBytes = 4096;
// If each block has edges of its own, calls are fragmented from these LateBytes on, on the rank that receives most.
constexpr uint64_t kIrregularBytesMin = 512 << 10;
// At most (m - 1) / m of a broadcast in m segments can overlap with computation, and each segment costs a call (Li et
// al.: 4 to 8).
constexpr uint64_t kSegmentsMax = 8;
// With two calls at a time, a reduction's contributions are sent in one direction while the results of the segment
// before come back. In an alltoall, a node's link stays busy while the last messages of a round are in flight; with
// more rounds at a time, nodes that are ahead would take bandwidth from those that are behind.
constexpr uint8_t kCallsAtATime = 2;
constexpr uint64_t kSegmentBytesMin = 128 << 10;

// Returns the number of elements of an edge.
uint64_t EdgeElements(uint64_t element_bytes) {
  return (kEdgeBytes + element_bytes - 1) / std::max<uint64_t>(element_bytes, 1);
}

uint64_t SegmentsOf(uint64_t bytes) { return std::clamp(bytes / kSegmentBytesMin, uint64_t{1}, kSegmentsMax); }

// Returns the elements between the edges of a block that has edges of its own.
uint64_t MiddleOf(uint64_t elements, uint64_t edge) { return elements - std::min(elements, 2 * edge); }

uint64_t LongestOf(const uint64_t* counts, uint32_t size) {
  return counts == nullptr ? 0 : *std::max_element(counts, counts + size);
}

class Fragmenter {
 public:
  Fragmenter(const copse_coll_args_t& args, uint32_t rank, const NodeLayout& layout, std::span<const uint32_t> order,
             Fragmentation* fragmentation)
      : args_(args),
        order_(order),
        rank_(rank),
        size_(static_cast<uint32_t>(layout.local.size())),
        layout_(layout),
        fragmentation_(fragmentation),
        has_equal_blocks_(args.collective == COPSE_COLL_GATHER || args.collective == COPSE_COLL_ALLGATHER ||
                          args.collective == COPSE_COLL_ALLTOALL),
        element_(client::DatatypeBytes(args.type)),
        edge_(EdgeElements(element_)),
        block_(args.count * element_) {}

  void Run() {
    *fragmentation_ = Fragmentation();
    fragmentation_->edge_bytes = edge_ * element_;
    switch (args_.collective) {
      case COPSE_COLL_BCAST:
      case COPSE_COLL_REDUCE:
      case COPSE_COLL_ALLREDUCE:
      case COPSE_COLL_SCAN:
      case COPSE_COLL_EXSCAN:
        return DivideVector();
      case COPSE_COLL_REDUCE_SCATTER:
      case COPSE_COLL_REDUCE_SCATTERV:
        return DivideReduceScatter();
      case COPSE_COLL_SCATTER:
      case COPSE_COLL_SCATTERV:
        return DivideScatter();
      case COPSE_COLL_GATHER:
      case COPSE_COLL_GATHERV:
        return DivideGather(COPSE_COLL_GATHERV, args_.root == rank_);
      case COPSE_COLL_ALLGATHER:
      case COPSE_COLL_ALLGATHERV:
        return DivideGather(COPSE_COLL_ALLGATHERV, true);
      default:
        return DivideAlltoall();
    }
  }

 private:
  bool in_place() const { return args_.send == COPSE_IN_PLACE || args_.recv == COPSE_IN_PLACE; }

  SubCall NewCall(copse_collective_t collective, uint64_t elements) const {
    SubCall call;
    call.args.collective = collective;
    call.args.type = args_.type;
    call.args.op = args_.op;
    call.args.root = args_.root;
    call.args.count = elements;
    call.args.mask = args_.mask & COPSE_COLL_ARGS_FIELD_FLAGS;
    call.args.flags = args_.flags;
    return call;
  }

  // --- bcast, reduce, allreduce, scan, exscan: all ranks have the same elements ---
  bool HasVector() const {
    if (args_.collective == COPSE_COLL_REDUCE) return rank_ == args_.root;
    return args_.collective != COPSE_COLL_EXSCAN || rank_ > 0;
  }

  void DivideVector() {
    const bool broadcasts = args_.collective == COPSE_COLL_BCAST, has_result = HasVector();
    fragmentation_->is_source = broadcasts && rank_ == args_.root;
    fragmentation_->send_bytes = broadcasts ? 0 : block_;
    fragmentation_->sends_received = !broadcasts && in_place();
    fragmentation_->receive_bytes = has_result ? block_ : 0;
    const bool fills = has_result && !fragmentation_->is_source;

    Edges& edges = fragmentation_->edges;
    edges.call = NewCall(args_.collective, 2 * edge_);
    edges.call.sends = !broadcasts;
    edges.call.receives = has_result;
    const uint64_t bytes = edge_ * element_, last = block_ - bytes;
    const std::vector<Move> ends = {{0, 0, bytes}, {last, bytes, bytes}};
    edges.send_bytes = broadcasts ? 0 : 2 * bytes;
    edges.receive_bytes = has_result ? 2 * bytes : 0;
    if (!broadcasts || fragmentation_->is_source) edges.pack = ends;
    if (fills) edges.unpack = {{0, 0, bytes}, {bytes, last, bytes}};

    const uint64_t middle = args_.count - 2 * edge_;
    const uint64_t segments = SegmentsOf(middle * element_);
    for (uint32_t turn = 0; turn < segments; ++turn) {
      const uint64_t i = FragmentAt(turn);
      const uint64_t from = edge_ + middle * i / segments, to = edge_ + middle * (i + 1) / segments;
      SubCall call = NewCall(args_.collective, to - from);
      call.sends = !broadcasts;
      call.receives = has_result;
      call.send_offset = call.receive_offset = from * element_;
      if (fills) call.extents.push_back({from * element_, (to - from) * element_});
      call.fragment = static_cast<uint32_t>(i);
      if (!broadcasts) call.under_way_max = kCallsAtATime;
      if (fragmentation_->is_source) call.under_way_max = 1;
      fragmentation_->calls.push_back(std::move(call));
    }
    if (fills) fragmentation_->runs.push_back({0, block_});
  }

  // --- Blocks ---
  // A Cut divides a block's elements: the edges carry its head and tail, and a fragment's call its middle. If one rank
  // receives equal blocks from all ranks, they are contiguous, so only the first one has a head and only the last one a
  // tail. In other collectives each block has both, since only its sender and receiver know how long it is or where it
  // lies; a short block is a head alone.
  struct Cut {
    uint64_t head = 0, middle = 0, tail = 0;
    uint64_t ends() const { return head + tail; }
    // Returns where in the block the middle begins.
    uint64_t at() const { return middle > 0 ? head : 0; }
  };
  Cut CutOf(uint32_t from, uint64_t elements) const {
    Cut cut;
    cut.head = !has_equal_blocks_ ? edge_ : from == 0 ? edge_ : 0;
    cut.tail = !has_equal_blocks_ ? edge_ : from == size_ - 1 ? edge_ : 0;
    if (elements <= cut.ends()) return {elements, 0, 0};
    cut.middle = elements - cut.ends();
    return cut;
  }
  template <typename Add>
  static void ForEnds(uint64_t at, const Cut& cut, Add add) {
    if (cut.head > 0) add(at, cut.head);
    if (cut.tail > 0) add(at + cut.head + cut.middle, cut.tail);
  }
  // Append the head and tail of the block at `at` (elements) to those that the edges send or receive.
  void PackEnds(uint64_t at, const Cut& cut) {
    Edges& edges = fragmentation_->edges;
    ForEnds(at, cut, [&](uint64_t piece, uint64_t elements) {
      edges.pack.push_back({piece * element_, edges.send_bytes, elements * element_});
      edges.send_bytes += elements * element_;
    });
  }
  void UnpackEnds(uint64_t at, const Cut& cut) {
    Edges& edges = fragmentation_->edges;
    ForEnds(at, cut, [&](uint64_t piece, uint64_t elements) {
      edges.unpack.push_back({edges.receive_bytes, piece * element_, elements * element_});
      edges.receive_bytes += elements * element_;
    });
  }

  // A Side describes the blocks that this rank sends, or those that it receives, in elements.
  struct Side {
    std::vector<uint64_t> counts, displacements;
    uint64_t end = 0;
  };
  Side SideOf(const uint64_t* counts, const uint64_t* displacements) const {
    Side side;
    uint64_t next = 0;
    for (uint32_t other = 0; other < size_; ++other) {
      side.counts.push_back(counts[other]);
      side.displacements.push_back(displacements == nullptr ? next : displacements[other]);
      next += counts[other];
      if (counts[other] > 0) side.end = std::max(side.end, side.displacements.back() + counts[other]);
    }
    return side;
  }
  Side EqualSide() const { return SideOf(std::vector<uint64_t>(size_, args_.count).data(), nullptr); }

  // --- reduce_scatter: each rank has the sum of one block ---
  SubCall NewReduceScatter(const std::vector<uint64_t>& counts) const {
    SubCall call = NewCall(args_.collective, counts[rank_]);
    call.sends = call.receives = true;
    if (args_.collective == COPSE_COLL_REDUCE_SCATTERV) call.receive_counts = counts;
    return call;
  }

  // Each call carries a segment of every block; the segments of a call are contiguous in the packed contribution.
  void DivideReduceScatter() {
    const Side blocks =
        args_.collective == COPSE_COLL_REDUCE_SCATTER ? EqualSide() : SideOf(args_.recv_counts, nullptr);
    const uint64_t mine = blocks.counts[rank_];
    fragmentation_->send_bytes = blocks.end * element_;
    fragmentation_->receive_bytes = mine * element_;
    fragmentation_->sends_received = in_place();
    if (mine > 0) fragmentation_->runs.push_back({0, mine * element_});

    std::vector<uint64_t> counts;
    for (uint32_t other = 0; other < size_; ++other) {
      const Cut cut = CutOf(other, blocks.counts[other]);
      counts.push_back(cut.ends());
      PackEnds(blocks.displacements[other], cut);
    }
    UnpackEnds(0, CutOf(rank_, mine));
    fragmentation_->edges.call = NewReduceScatter(counts);

    const uint64_t segments = SegmentsOf(MiddleOf(LongestOf(blocks.counts.data(), size_), edge_) * element_);
    uint64_t end = 0;  // bytes of the packed contribution so far
    for (uint32_t turn = 0; turn < segments; ++turn) {
      const uint64_t i = FragmentAt(turn), begin = end;
      Extent own;  // in elements
      for (uint32_t other = 0; other < size_; ++other) {
        const Cut cut = CutOf(other, blocks.counts[other]);
        const uint64_t from = cut.at() + cut.middle * i / segments, to = cut.at() + cut.middle * (i + 1) / segments;
        if (other == rank_) own = {from, to - from};
        counts[other] = to - from;
        if (to == from) continue;
        fragmentation_->send_pack.push_back(
            {(blocks.displacements[other] + from) * element_, end, (to - from) * element_});
        end += (to - from) * element_;
      }
      SubCall call = NewReduceScatter(counts);
      call.fragment = static_cast<uint32_t>(i);
      call.under_way_max = kCallsAtATime;
      call.send_offset = begin;
      call.receive_offset = own.offset * element_;
      if (own.bytes > 0) call.extents.push_back({own.offset * element_, own.bytes * element_});
      fragmentation_->calls.push_back(std::move(call));
    }
  }

  // --- scatter: each rank has one block ---
  void DivideScatter() {
    const bool is_root = rank_ == args_.root, receives = !(is_root && in_place());
    const bool is_regular = args_.collective == COPSE_COLL_SCATTER;
    Side sends;
    if (is_root) sends = is_regular ? EqualSide() : SideOf(args_.send_counts, args_.send_displacements);
    fragmentation_->send_bytes = sends.end * element_;
    fragmentation_->receive_bytes = receives ? block_ : 0;
    if (fragmentation_->receive_bytes > 0) fragmentation_->runs.push_back({0, block_});
    const auto new_call = [&](copse_collective_t collective, uint64_t elements) {
      SubCall call = NewCall(collective, elements);
      call.sends = is_root;
      call.receives = receives;
      call.keeps_own = !receives;
      return call;
    };

    Edges& edges = fragmentation_->edges;
    const Cut mine = CutOf(rank_, args_.count);
    edges.call = new_call(args_.collective, mine.ends());
    SubCall call = new_call(COPSE_COLL_SCATTERV, mine.middle);
    for (uint32_t to = 0; is_root && to < size_; ++to) {
      const Cut cut = CutOf(to, sends.counts[to]);
      if (!is_regular) {
        edges.call.send_counts.push_back(cut.ends());
        edges.call.send_displacements.push_back(edges.send_bytes / element_);
      }
      PackEnds(sends.displacements[to], cut);
      call.send_counts.push_back(cut.middle);
      call.send_displacements.push_back(sends.displacements[to] + cut.at());
    }
    if (receives) {
      UnpackEnds(0, mine);
      call.receive_offset = mine.at() * element_;
      if (call.args.count > 0) call.extents.push_back({call.receive_offset, call.args.count * element_});
    }
    fragmentation_->calls.push_back(std::move(call));
  }

  // --- gather, allgather ---
  void DivideGather(copse_collective_t collective, bool receives) {
    Side blocks;
    if (receives) blocks = has_equal_blocks_ ? EqualSide() : SideOf(args_.recv_counts, args_.recv_displacements);
    const uint64_t count = in_place() ? blocks.counts[rank_] : args_.count;
    fragmentation_->send_bytes = count * element_;
    fragmentation_->sends_received = in_place();
    fragmentation_->send_at = in_place() ? blocks.displacements[rank_] * element_ : 0;
    fragmentation_->receive_bytes = blocks.end * element_;
    if (receives && !in_place()) fragmentation_->own = {0, blocks.displacements[rank_] * element_, count * element_};
    if (receives) AddRuns(blocks);

    Edges& edges = fragmentation_->edges;
    const Cut mine = CutOf(rank_, count);
    edges.call = NewCall(collective, mine.ends());
    PackEnds(0, mine);
    SubCall call = NewCall(collective, mine.middle);
    call.send_offset = mine.at() * element_;
    edges.call.sends = call.sends = true;
    edges.call.receives = call.receives = receives;
    for (uint32_t from = 0; receives && from < size_; ++from) {
      const Cut cut = CutOf(from, blocks.counts[from]);
      edges.call.receive_counts.push_back(cut.ends());
      edges.call.receive_displacements.push_back(edges.receive_bytes / element_);
      call.receive_counts.push_back(cut.middle);
      call.receive_displacements.push_back(blocks.displacements[from] + cut.at());
      if (from == rank_) {
        edges.receive_bytes += cut.ends() * element_;
        continue;
      }
      UnpackEnds(blocks.displacements[from], cut);
      if (cut.middle > 0) call.extents.push_back({call.receive_displacements.back() * element_, cut.middle * element_});
    }
    fragmentation_->calls.push_back(std::move(call));
  }

  // --- alltoall ---
  // Returns whether `rank` is its node's sender in round `round`. All nodes begin with the same number, by default with
  // their first rank, since programs read blocks in order (Li et al.: FT and IS do): if nodes began with different
  // ones, the block that is wanted next might arrive last. In each round a receiver gets at most one block from each
  // node.
  bool Sends(uint32_t rank, uint32_t round) const { return layout_.local[rank] == FragmentAt(round); }

  // Returns `elements` as the bound of what one node sends to another; 0 if it exceeds the protocol's limit.
  uint64_t Bound(uint64_t elements) const { return elements * element_ <= ring::kPairBoundMax ? elements : 0; }

  void DivideAlltoall() {
    const Side receives = has_equal_blocks_ ? EqualSide() : SideOf(args_.recv_counts, args_.recv_displacements);
    const bool are_alike = has_equal_blocks_ || in_place();
    const Side sends = are_alike ? receives : SideOf(args_.send_counts, args_.send_displacements);
    fragmentation_->send_bytes = sends.end * element_;
    fragmentation_->receive_bytes = receives.end * element_;
    fragmentation_->sends_received = in_place();
    if (!in_place()) {
      fragmentation_->own = {sends.displacements[rank_] * element_, receives.displacements[rank_] * element_,
                             receives.counts[rank_] * element_};
    }
    AddRuns(receives);
    DivideEdgesOf(sends, receives);
    for (uint32_t round = 0; round < layout_.ranks_per_node; ++round) {
      SubCall call = NewCall(COPSE_COLL_ALLTOALLV, 0);
      call.sends = call.receives = true;
      const bool is_sender = Sends(rank_, round);
      call.fragment = FragmentAt(round);
      if (is_sender) call.under_way_max = kCallsAtATime;
      if (has_equal_blocks_) {
        const uint64_t most = size_ > 2 ? args_.count : CutOf(rank_, args_.count).middle;
        call.pair_count_max = Bound(layout_.ranks_per_node * most);
      }
      for (uint32_t other = 0; other < size_; ++other) {
        const bool goes = is_sender && other != rank_, comes = other != rank_ && Sends(other, round);
        const Cut sent = CutOf(rank_, sends.counts[other]), received = CutOf(other, receives.counts[other]);
        call.send_counts.push_back(goes ? sent.middle : 0);
        call.send_displacements.push_back(sends.displacements[other] + sent.at());
        call.receive_counts.push_back(comes ? received.middle : 0);
        call.receive_displacements.push_back(receives.displacements[other] + received.at());
        if (call.receive_counts.back() == 0) continue;
        call.extents.push_back({call.receive_displacements.back() * element_, received.middle * element_});
      }
      fragmentation_->calls.push_back(std::move(call));
    }
  }

  // Adds the receive buffer's runs: adjacent blocks are one run.
  void AddRuns(const Side& receives) {
    std::vector<Extent> blocks;
    for (uint32_t from = 0; from < size_; ++from) {
      if (receives.counts[from] == 0) continue;
      blocks.push_back({receives.displacements[from] * element_, receives.counts[from] * element_});
    }
    std::sort(blocks.begin(), blocks.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
    for (const Extent& block : blocks) {
      std::vector<Extent>& runs = fragmentation_->runs;
      if (!runs.empty() && runs.back().offset + runs.back().bytes == block.offset) {
        runs.back().bytes += block.bytes;
      } else {
        runs.push_back(block);
      }
    }
  }

  void DivideEdgesOf(const Side& sends, const Side& receives) {
    Edges& edges = fragmentation_->edges;
    edges.call = NewCall(COPSE_COLL_ALLTOALLV, 0);
    edges.call.sends = edges.call.receives = true;
    if (has_equal_blocks_) edges.call.pair_count_max = Bound(2 * edge_ * layout_.ranks_per_node);
    for (uint32_t other = 0; other < size_; ++other) {
      const Cut goes = other == rank_ ? Cut() : CutOf(rank_, sends.counts[other]);
      const Cut comes = other == rank_ ? Cut() : CutOf(other, receives.counts[other]);
      edges.call.send_counts.push_back(goes.ends());
      edges.call.send_displacements.push_back(edges.send_bytes / element_);
      PackEnds(sends.displacements[other], goes);
      edges.call.receive_counts.push_back(comes.ends());
      edges.call.receive_displacements.push_back(edges.receive_bytes / element_);
      UnpackEnds(receives.displacements[other], comes);
    }
  }

  uint32_t FragmentAt(uint32_t turn) const { return order_.empty() ? turn : order_[turn]; }

  const copse_coll_args_t& args_;
  const std::span<const uint32_t> order_;
  const uint32_t rank_, size_;
  const NodeLayout& layout_;
  Fragmentation* const fragmentation_;
  const bool has_equal_blocks_;  // the results of one rank are equal blocks from all ranks
  const uint64_t element_;       // bytes of an element
  const uint64_t edge_;          // elements of an edge
  const uint64_t block_;         // bytes of args.count elements
};

}  // namespace

NodeLayout NodeLayout::Of(std::span<const uint64_t> node_names) {
  NodeLayout layout;
  std::map<uint64_t, uint32_t> ranks_of;  // ranks so far, by the name of their node
  for (const uint64_t name : node_names) {
    uint32_t& ranks = ranks_of[name];
    layout.local.push_back(ranks++);
    layout.ranks_per_node = std::max(layout.ranks_per_node, ranks);
  }
  return layout;
}

bool MayFragment(const copse_coll_args_t& args, uint32_t size) {
  const uint64_t element = client::DatatypeBytes(args.type), bytes = args.count * element;
  switch (args.collective) {
    case COPSE_COLL_BCAST:
    case COPSE_COLL_REDUCE:
    case COPSE_COLL_ALLREDUCE:
    case COPSE_COLL_SCAN:
    case COPSE_COLL_EXSCAN:
    case COPSE_COLL_SCATTER:
    case COPSE_COLL_REDUCE_SCATTER:
      return bytes >= kWholeBytesMin;
    case COPSE_COLL_GATHER:
    case COPSE_COLL_ALLGATHER:
    case COPSE_COLL_ALLTOALL:
      return bytes >= kBlockBytesMin;
    case COPSE_COLL_REDUCE_SCATTERV:
      return LongestOf(args.recv_counts, size) * element >= kWholeBytesMin;
    case COPSE_COLL_ALLGATHERV:
      // No block is left out as a rank's own, since it is late on all other ranks; so all ranks get the same result.
      return IsWorthFragmenting(args.collective, LateBytes(args, size, size));
    default:
      return NeedsAgreement(args.collective);
  }
}

bool NeedsAgreement(copse_collective_t collective) {
  return collective == COPSE_COLL_ALLTOALLV || collective == COPSE_COLL_GATHERV || collective == COPSE_COLL_SCATTERV;
}

uint64_t LateBytes(const copse_coll_args_t& args, uint32_t rank, uint32_t size) {
  const uint64_t element = client::DatatypeBytes(args.type), edge = EdgeElements(element);
  if (args.collective == COPSE_COLL_SCATTERV) {
    return args.recv == COPSE_IN_PLACE ? 0 : MiddleOf(args.count, edge) * element;
  }
  if (args.collective == COPSE_COLL_GATHERV && rank != args.root) return 0;
  uint64_t elements = 0;
  for (uint32_t from = 0; from < size; ++from) {
    if (from != rank) elements += MiddleOf(args.recv_counts[from], edge);
  }
  return elements * element;
}

bool IsWorthFragmenting(copse_collective_t collective, uint64_t late_bytes) {
  return late_bytes >= (collective == COPSE_COLL_SCATTERV ? kWholeBytesMin : kIrregularBytesMin);
}

uint32_t FragmentsOf(const copse_coll_args_t& args, const NodeLayout& layout) {
  const uint64_t element = client::DatatypeBytes(args.type), edge = EdgeElements(element);
  uint64_t elements = args.count;
  switch (args.collective) {
    case COPSE_COLL_REDUCE_SCATTERV:
      elements = LongestOf(args.recv_counts, static_cast<uint32_t>(layout.local.size()));
      [[fallthrough]];
    case COPSE_COLL_BCAST:
    case COPSE_COLL_REDUCE:
    case COPSE_COLL_ALLREDUCE:
    case COPSE_COLL_SCAN:
    case COPSE_COLL_EXSCAN:
    case COPSE_COLL_REDUCE_SCATTER:
      return static_cast<uint32_t>(SegmentsOf(MiddleOf(elements, edge) * element));
    case COPSE_COLL_ALLTOALL:
    case COPSE_COLL_ALLTOALLV:
      return layout.ranks_per_node;
    default:
      return 1;
  }
}

bool FragmentCall(const copse_coll_args_t& args, uint32_t rank, const NodeLayout& layout,
                  std::span<const uint32_t> order, Fragmentation* fragmentation) {
  const auto size = static_cast<uint32_t>(layout.local.size());
  if (size < 2 || !MayFragment(args, size)) return false;
  Fragmenter(args, rank, layout, order, fragmentation).Run();
  return true;
}

std::vector<uint32_t> OrderOf(const Fragmentation& fragmentation) {
  std::vector<uint32_t> order;
  for (const SubCall& call : fragmentation.calls) order.push_back(call.fragment);
  return order;
}

std::vector<Extent> SentBy(const Fragmentation& fragmentation, const SubCall& call) {
  if (!fragmentation.send_pack.empty()) return {};
  const uint64_t element = client::DatatypeBytes(call.args.type);
  std::vector<Extent> extents;
  if (fragmentation.is_source) {
    extents.push_back({call.receive_offset, call.args.count * element});
  } else if (call.sends && call.send_counts.empty()) {
    extents.push_back({call.send_offset, call.args.count * element});
  } else if (call.sends) {
    for (size_t i = 0; i < call.send_counts.size(); ++i) {
      extents.push_back({call.send_offset + call.send_displacements[i] * element, call.send_counts[i] * element});
    }
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  std::vector<Extent> apart;
  for (const Extent& fragment : extents) {
    if (fragment.bytes == 0) continue;
    if (apart.empty() || apart.back().offset + apart.back().bytes < fragment.offset) {
      apart.push_back(fragment);
    } else {
      Extent& last = apart.back();
      last.bytes = std::max(last.offset + last.bytes, fragment.offset + fragment.bytes) - last.offset;
    }
  }
  return apart;
}

bool WritesExtentsOnly(const Fragmentation& fragmentation) {
  for (const SubCall& call : fragmentation.calls) {
    if (!call.receives || call.keeps_own) continue;
    uint64_t elements = call.receive_counts.empty() ? call.args.count : 0, bytes = 0;
    for (const uint64_t count : call.receive_counts) elements += count;
    for (const Extent& fragment : call.extents) bytes += fragment.bytes;
    if (elements * client::DatatypeBytes(call.args.type) != bytes) return false;
  }
  return true;
}

}  // namespace copse::tnbc
