// SPDX-License-Identifier: Apache-2.0
//
// Divisions are carried out here, all ranks at once, by what the C API says of each collective: what comes of it has to
// be what the whole call gives.
#include "client/tnbc/fragmentation.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/port/arguments.h"
#include "client/tnbc/granules.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

using Bytes = std::vector<uint8_t>;

// A team's ranks as they are dealt to nodes.
NodeLayout Nodes(const std::vector<uint64_t>& names) { return NodeLayout::Of(names); }

Fragmentation FragmentationOf(const copse_coll_args_t& args, uint32_t rank, const NodeLayout& layout,
                              std::span<const uint32_t> order = {}) {
  Fragmentation fragmentation;
  EXPECT_TRUE(FragmentCall(args, rank, layout, order, &fragmentation));
  return fragmentation;
}

// One rank: its buffers, copies included, and its part of the call that is under way.
struct Rank {
  Fragmentation fragmentation;
  Bytes send, receive;
  Bytes packed_send;  // from where the calls send
  Bytes edges_send, edges_receive;
};

struct View {
  const SubCall* call = nullptr;
  const uint8_t* send = nullptr;
  uint8_t* receive = nullptr;
};

// Null where there are none.
uint8_t* At(Bytes* bytes, uint64_t offset) { return bytes->empty() ? nullptr : bytes->data() + offset; }

// Bytes are summed modulo 256.
void Carry(const std::vector<View>& ranks) {
  const copse_coll_args_t& args = ranks[0].call->args;
  const size_t n = ranks.size();
  const View& root = ranks[args.root];
  for (const View& rank : ranks) ASSERT_EQ(rank.call->args.collective, args.collective);
  const auto copy = [](const View& from, uint64_t at, const View& to, uint64_t where, uint64_t sent,
                       uint64_t received) {
    ASSERT_EQ(sent, received);
    if (sent > 0) memcpy(to.receive + where, from.send + at, sent);
  };
  const auto combine = [&ranks](const View& to, uint64_t at, uint64_t bytes, size_t first_ranks) {
    if (!to.call->receives) return;
    ASSERT_EQ(to.call->args.count, bytes);
    for (uint64_t k = 0; k < bytes; ++k) {
      to.receive[k] = 0;
      for (size_t r = 0; r < first_ranks; ++r) {
        to.receive[k] = static_cast<uint8_t>(to.receive[k] + ranks[r].send[at + k]);
      }
    }
  };
  for (size_t i = 0; i < n; ++i) {
    const View& rank = ranks[i];
    const SubCall& call = *rank.call;
    switch (args.collective) {
      case COPSE_COLL_BCAST:
        ASSERT_EQ(call.args.count, args.count);
        if (i != args.root) memcpy(rank.receive, root.receive, args.count);
        break;
      case COPSE_COLL_REDUCE:
      case COPSE_COLL_ALLREDUCE:
        combine(rank, 0, args.count, n);
        break;
      case COPSE_COLL_SCAN:
        combine(rank, 0, args.count, i + 1);
        break;
      case COPSE_COLL_EXSCAN:
        EXPECT_EQ(call.receives, i > 0);
        combine(rank, 0, args.count, i);
        break;
      case COPSE_COLL_REDUCE_SCATTER:
        combine(rank, i * args.count, args.count, n);
        break;
      case COPSE_COLL_REDUCE_SCATTERV: {
        ASSERT_EQ(call.receive_counts, root.call->receive_counts);
        uint64_t at = 0;
        for (size_t before = 0; before < i; ++before) at += call.receive_counts[before];
        combine(rank, at, call.receive_counts[i], n);
        break;
      }
      case COPSE_COLL_SCATTER:
        EXPECT_NE(call.receives, call.keeps_own);
        if (call.receives) copy(root, i * args.count, rank, 0, args.count, call.args.count);
        break;
      case COPSE_COLL_SCATTERV:
        if (!call.receives) break;
        copy(root, root.call->send_displacements[i], rank, 0, root.call->send_counts[i], call.args.count);
        break;
      case COPSE_COLL_GATHERV:
      case COPSE_COLL_ALLGATHERV:
        for (size_t from = 0; call.receives && from < n; ++from) {
          copy(ranks[from], 0, rank, call.receive_displacements[from], ranks[from].call->args.count,
               call.receive_counts[from]);
        }
        break;
      case COPSE_COLL_ALLTOALLV:
        for (size_t from = 0; from < n; ++from) {
          copy(ranks[from], ranks[from].call->send_displacements[i], rank, call.receive_displacements[from],
               ranks[from].call->send_counts[i], call.receive_counts[from]);
        }
        break;
      default:
        FAIL() << args.collective;
    }
  }
}

uint8_t Pattern(size_t rank, uint64_t offset) { return static_cast<uint8_t>(rank * 37 + offset * 11 + offset / 251); }

// The sum of what the first `ranks` have there.
uint8_t Sum(size_t ranks, uint64_t offset) {
  uint8_t sum = 0;
  for (size_t i = 0; i < ranks; ++i) sum = static_cast<uint8_t>(sum + Pattern(i, offset));
  return sum;
}

// The call's fragments, not as they are numbered.
std::vector<uint32_t> ReverseOrder(const copse_coll_args_t& args, const NodeLayout& layout) {
  std::vector<uint32_t> order(FragmentsOf(args, layout));
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

// Ranks that carry a fragmentation out together.
class Ranks {
 protected:
  // The next rank, with what it begins with; nothing of the result is known.
  void AddRank(const copse_coll_args_t& args, const NodeLayout& layout, std::span<const uint32_t> order) {
    const auto index = static_cast<uint32_t>(ranks_.size());
    Rank rank{.fragmentation = FragmentationOf(args, index, layout, order)};
    rank.send.resize(rank.fragmentation.send_bytes);
    rank.receive.assign(rank.fragmentation.receive_bytes, 0xee);
    for (uint64_t k = 0; k < rank.send.size(); ++k) rank.send[k] = Pattern(index, k);
    for (uint64_t k = 0; rank.fragmentation.is_source && k < rank.receive.size(); ++k) {
      rank.receive[k] = Pattern(index, k);
    }
    Pack(&rank);
    ranks_.push_back(std::move(rank));
  }

  void CarryAll() {
    CarryEdges();
    for (size_t i = 0; i < ranks_[0].fragmentation.calls.size(); ++i) CarryCall(i);
  }

  // What a rank begins with is in its buffers.
  void Pack(Rank* rank) {
    const Fragmentation& fragmentation = rank->fragmentation;
    if (fragmentation.sends_received) {
      // A reduce_scatter in place has its result at the beginning; an exscan's first rank has none.
      rank->receive.resize(std::max<size_t>(rank->receive.size(), fragmentation.send_at + fragmentation.send_bytes));
      std::copy(rank->send.begin(), rank->send.end(),
                rank->receive.begin() + static_cast<std::ptrdiff_t>(fragmentation.send_at));
    }
    rank->packed_send = rank->send;
    if (!fragmentation.send_pack.empty()) std::fill(rank->packed_send.begin(), rank->packed_send.end(), 0xdd);
    for (const Move& move : fragmentation.send_pack) {
      ASSERT_LE(std::max(move.from, move.to) + move.bytes, rank->send.size());
      memcpy(rank->packed_send.data() + move.to, rank->send.data() + move.from, move.bytes);
    }
    rank->edges_send.resize(fragmentation.edges.send_bytes);
    rank->edges_receive.resize(fragmentation.edges.receive_bytes);
    Bytes& packed = fragmentation.is_source ? rank->edges_receive : rank->edges_send;
    const Bytes& whole = fragmentation.is_source ? rank->receive : rank->send;
    for (const Move& move : fragmentation.edges.pack) {
      ASSERT_LE(move.from + move.bytes, whole.size());
      ASSERT_LE(move.to + move.bytes, packed.size());
      memcpy(packed.data() + move.to, whole.data() + move.from, move.bytes);
    }
  }

  void CarryEdges() {
    std::vector<View> views;
    for (Rank& rank : ranks_)
      views.push_back({&rank.fragmentation.edges.call, rank.edges_send.data(), rank.edges_receive.data()});
    Carry(views);
    for (Rank& rank : ranks_) {
      for (const Move& move : rank.fragmentation.edges.unpack) {
        memcpy(rank.receive.data() + move.to, rank.edges_receive.data() + move.from, move.bytes);
      }
      const Move& own = rank.fragmentation.own;
      if (own.bytes > 0) memcpy(rank.receive.data() + own.to, rank.send.data() + own.from, own.bytes);
    }
  }

  // From copies that have what is sent and nothing else, into copies, of which the fragments are taken, as the library
  // does it.
  void CarryCall(size_t index) {
    std::vector<Bytes> sent, copies;
    for (const Rank& rank : ranks_) {
      const Fragmentation& fragmentation = rank.fragmentation;
      const Bytes& from = fragmentation.is_source ? rank.receive : rank.packed_send;
      // What is packed is copied at once.
      sent.push_back(fragmentation.send_pack.empty() ? Bytes(from.size()) : from);
      uint64_t end = 0;
      for (const Extent& fragment : SentBy(fragmentation, fragmentation.calls[index])) {
        ASSERT_GE(fragment.offset, end);
        end = fragment.offset + fragment.bytes;
        ASSERT_LE(end, from.size());
        memcpy(sent.back().data() + fragment.offset, from.data() + fragment.offset, fragment.bytes);
      }
      copies.push_back(fragmentation.is_source ? sent.back() : Bytes(rank.receive.size()));
    }
    std::vector<View> views;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      const SubCall& call = ranks_[i].fragmentation.calls[index];
      views.push_back({&call, At(&sent[i], call.send_offset), At(&copies[i], call.receive_offset)});
    }
    const std::vector<Bytes> before = copies;
    Carry(views);
    for (size_t i = 0; i < ranks_.size(); ++i) {
      for (const Extent& fragment : ranks_[i].fragmentation.calls[index].extents) {
        ASSERT_LE(fragment.offset + fragment.bytes, ranks_[i].receive.size());
        memcpy(ranks_[i].receive.data() + fragment.offset, copies[i].data() + fragment.offset, fragment.bytes);
        memcpy(copies[i].data() + fragment.offset, before[i].data() + fragment.offset, fragment.bytes);
      }
      if (WritesExtentsOnly(ranks_[i].fragmentation)) {
        ASSERT_EQ(copies[i], before[i]);
      }
    }
  }

  // Bytes of a rank's result that are not right are in granules, by whose calls they are brought.
  template <typename IsRight>
  void ExpectOthersGuarded(size_t index, IsRight is_right) {
    constexpr uint64_t kPage = 4096;
    const Rank& rank = ranks_[index];
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{16}, uint64_t{4095}}) {
      const uintptr_t address = 64 * kPage + offset;
      std::vector<bool> guarded(rank.receive.size(), false);
      uint64_t end = 0;
      for (const Granule& granule : GranulesOf(rank.fragmentation, {address, kPage})) {
        const uint64_t begin = granule.begin - address;
        EXPECT_EQ(granule.begin % kPage, 0u);
        EXPECT_EQ(granule.bytes % kPage, 0u);
        ASSERT_GE(begin, end);
        end = begin + granule.bytes;
        ASSERT_LE(end, rank.fragmentation.receive_bytes);
        EXPECT_FALSE(granule.calls.empty());
        for (uint64_t k = begin; k < end; ++k) guarded[k] = true;
        // Its calls are those that bring something there, and no others.
        for (uint32_t call = 0; call < rank.fragmentation.calls.size(); ++call) {
          bool brings = false;
          for (const Extent& fragment : rank.fragmentation.calls[call].extents) {
            brings = brings || (fragment.offset < end && fragment.offset + fragment.bytes > begin);
          }
          EXPECT_EQ(brings, std::find(granule.calls.begin(), granule.calls.end(), call) != granule.calls.end());
        }
      }
      for (const Extent& run : rank.fragmentation.runs) {
        for (uint64_t k = run.offset; k < run.offset + run.bytes; ++k) {
          ASSERT_TRUE(guarded[k] || is_right(k)) << "rank " << index << ", byte " << k;
        }
      }
    }
  }

  std::vector<Rank> ranks_;
};

class FragmentationTest : public testing::TestWithParam<std::tuple<copse_collective_t, uint64_t, bool>>,
                          protected Ranks {
 protected:
  void SetUp() override {
    args_.collective = std::get<0>(GetParam());
    args_.type = COPSE_DT_UINT8;
    args_.op = COPSE_OP_SUM;
    args_.count = std::get<1>(GetParam());
    args_.root = 1;
  }
  bool is_rooted() const {
    return args_.collective == COPSE_COLL_GATHER || args_.collective == COPSE_COLL_SCATTER ||
           args_.collective == COPSE_COLL_REDUCE;
  }

  // All ranks, with what they begin with; nothing of the result is known.
  void Make(const NodeLayout& layout) {
    const bool in_place = std::get<2>(GetParam());
    const std::vector<uint32_t> order = ReverseOrder(args_, layout);
    for (uint32_t i = 0; i < layout.local.size(); ++i) {
      copse_coll_args_t args = args_;
      uint8_t some = 0;
      args.send = args.recv = &some;
      const bool is_in_place = in_place && (!is_rooted() || i == args_.root);
      if (is_in_place && args_.collective == COPSE_COLL_SCATTER) args.recv = COPSE_IN_PLACE;
      if (is_in_place && args_.collective != COPSE_COLL_SCATTER) args.send = COPSE_IN_PLACE;
      AddRank(args, layout, order);
    }
  }

  uint8_t Expected(size_t rank, uint64_t at) const {
    const uint64_t block = args_.count, from = at / block;
    switch (args_.collective) {
      case COPSE_COLL_BCAST:
        return Pattern(args_.root, at);
      case COPSE_COLL_SCATTER:
        return Pattern(args_.root, rank * block + at);
      case COPSE_COLL_ALLTOALL:
        return Pattern(from, rank * block + at % block);
      case COPSE_COLL_GATHER:
      case COPSE_COLL_ALLGATHER:
        return Pattern(from, at % block);
      case COPSE_COLL_REDUCE_SCATTER:
        return Sum(ranks_.size(), rank * block + at);
      case COPSE_COLL_SCAN:
        return Sum(rank + 1, at);
      case COPSE_COLL_EXSCAN:
        return Sum(rank, at);
      default:
        return Sum(ranks_.size(), at);
    }
  }

  void Check() {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      for (uint64_t k = 0; k < ranks_[i].fragmentation.receive_bytes; ++k) {
        ASSERT_EQ(ranks_[i].receive[k], Expected(i, k)) << "rank " << i << ", byte " << k;
      }
    }
  }

  copse_coll_args_t args_{};
};

TEST_P(FragmentationTest, ItsCallsBringWhatTheWholeBrings) {
  Make(Nodes({1, 1, 2, 1, 2, 3}));
  CarryAll();
  Check();
}

// The first pages have to be there when the call returns, and so has what lies behind the last.
TEST_P(FragmentationTest, AllBytesOutsideGranulesAreThereBeforeTheCalls) {
  Make(Nodes({1, 2, 1, 2}));
  CarryEdges();
  for (size_t i = 0; i < ranks_.size(); ++i) {
    ExpectOthersGuarded(i, [&](uint64_t k) { return ranks_[i].receive[k] == Expected(i, k); });
  }
}

std::string NameOfCase(const testing::TestParamInfo<FragmentationTest::ParamType>& info) {
  return client::CollectiveName(std::get<0>(info.param)) + std::string("_") + std::to_string(std::get<1>(info.param)) +
         (std::get<2>(info.param) ? "_in_place" : "");
}

INSTANTIATE_TEST_SUITE_P(Apart, FragmentationTest,
                         testing::Combine(testing::Values(COPSE_COLL_BCAST, COPSE_COLL_REDUCE, COPSE_COLL_ALLREDUCE,
                                                          COPSE_COLL_GATHER, COPSE_COLL_SCATTER, COPSE_COLL_ALLGATHER,
                                                          COPSE_COLL_ALLTOALL, COPSE_COLL_REDUCE_SCATTER,
                                                          COPSE_COLL_SCAN, COPSE_COLL_EXSCAN),
                                          testing::Values(65536, 65537, 300'001), testing::Values(false)),
                         NameOfCase);
INSTANTIATE_TEST_SUITE_P(InPlace, FragmentationTest,
                         testing::Combine(testing::Values(COPSE_COLL_REDUCE, COPSE_COLL_ALLREDUCE, COPSE_COLL_GATHER,
                                                          COPSE_COLL_SCATTER, COPSE_COLL_ALLGATHER, COPSE_COLL_ALLTOALL,
                                                          COPSE_COLL_REDUCE_SCATTER, COPSE_COLL_SCAN,
                                                          COPSE_COLL_EXSCAN),
                                          testing::Values(65537, 300'001), testing::Values(true)),
                         NameOfCase);

TEST(NodeLayoutTest, NumbersRanksOnTheirNodes) {
  const NodeLayout layout = Nodes({7, 9, 7, 7, 9, 5});
  EXPECT_EQ(layout.ranks_per_node, 3u);
  EXPECT_EQ(layout.local, (std::vector<uint32_t>{0, 0, 1, 2, 1, 0}));
}

// Li et al., T-NBC: one rank of each node sends at a time, and each of them once.
TEST(DivisionOfAlltoallTest, OneRankOfANodeSendsAtATime) {
  const NodeLayout layout = Nodes({1, 1, 1, 2, 2, 2});
  copse_coll_args_t args{.collective = COPSE_COLL_ALLTOALL, .count = 1 << 20};
  uint8_t some = 0;
  args.send = args.recv = &some;
  std::vector<std::vector<uint32_t>> senders(3);
  for (uint32_t rank = 0; rank < 6; ++rank) {
    const Fragmentation fragmentation = FragmentationOf(args, rank, layout);
    ASSERT_EQ(fragmentation.calls.size(), 3u);
    for (size_t round = 0; round < 3; ++round) {
      if (fragmentation.calls[round].send_counts[rank == 0 ? 1 : 0] > 0) senders[round].push_back(rank);
    }
  }
  EXPECT_EQ(senders, (std::vector<std::vector<uint32_t>>{{0, 3}, {1, 4}, {2, 5}}));
  // A sender waits for the rounds before but one, whose data is on its way; the others are ready at once.
  const auto waits = [&](uint32_t rank) {
    std::vector<uint32_t> limits;
    for (const SubCall& call : FragmentationOf(args, rank, layout).calls) limits.push_back(call.under_way_max);
    return limits;
  };
  const Fragmentation first = FragmentationOf(args, 0, layout);
  // One rank sends to the three of a node.
  EXPECT_EQ(first.calls[0].pair_count_max, 3u << 20);
  EXPECT_EQ(first.edges.call.pair_count_max, 2u * 4096 * 3);
  args.count = uint64_t{1} << 30;
  EXPECT_EQ(FragmentationOf(args, 0, layout).calls[0].pair_count_max, 0u);
  args.count = 1 << 20;
  EXPECT_EQ(waits(0), (std::vector<uint32_t>{2, 0, 0}));
  EXPECT_EQ(waits(1), (std::vector<uint32_t>{0, 2, 0}));
  EXPECT_EQ(waits(2), (std::vector<uint32_t>{0, 0, 2}));
}

// Blocks of every length around the edges', at distances, the last rank's first.
class DivisionOfListsTest : public testing::TestWithParam<std::tuple<copse_collective_t, bool>>, protected Ranks {
 protected:
  static constexpr uint32_t kSize = 6, kRoot = 2;
  struct Lists {
    std::vector<uint64_t> counts, displacements;
  };

  bool gathers() const { return collective_ == COPSE_COLL_GATHERV || collective_ == COPSE_COLL_ALLGATHERV; }
  bool scatters() const { return collective_ == COPSE_COLL_SCATTERV || collective_ == COPSE_COLL_REDUCE_SCATTERV; }
  bool is_rooted() const { return collective_ == COPSE_COLL_GATHERV || collective_ == COPSE_COLL_SCATTERV; }
  bool IsInPlace(uint32_t rank) const { return in_place_ && (!is_rooted() || rank == kRoot); }
  // In place, two ranks have as much for each other.
  uint64_t Length(uint32_t from, uint32_t to) const {
    constexpr uint64_t kLengths[] = {100'000, 0, 8193, 1, 8192, 4096, 12'289};
    constexpr uint64_t kLengthsOfRanks[kSize] = {600'001, 0, 8193, 8192, 1, 270'000};
    if (gathers()) return kLengthsOfRanks[from];
    if (scatters()) return kLengthsOfRanks[to];
    const uint32_t low = std::min(from, to), high = std::max(from, to);
    return kLengths[(low * 3 + high * 5) % 7];
  }
  Lists ListsOf(uint32_t rank, bool sends, uint64_t gap) const {
    Lists lists = {std::vector<uint64_t>(kSize), std::vector<uint64_t>(kSize)};
    uint64_t end = gap;
    for (uint32_t other = kSize; other-- > 0;) {
      lists.counts[other] = sends ? Length(rank, other) : Length(other, rank);
      lists.displacements[other] = end;
      end += lists.counts[other] + (other == 2 ? 0 : gap);
    }
    return lists;
  }

  void MakeRank(uint32_t i, const NodeLayout& layout, std::span<const uint32_t> order) {
    const bool lists_received = gathers() ? collective_ == COPSE_COLL_ALLGATHERV || i == kRoot : !scatters();
    receives_.push_back(ListsOf(i, false, 1000));
    sends_.push_back(ListsOf(i, true, 0));
    if (collective_ == COPSE_COLL_ALLTOALLV && in_place_) sends_.back() = receives_.back();
    copse_coll_args_t args{.collective = collective_,
                           .type = COPSE_DT_UINT8,
                           .root = kRoot,
                           .count = gathers() ? Length(i, 0) : Length(0, i)};
    uint8_t some = 0;
    args.send = args.recv = &some;
    if (IsInPlace(i) && collective_ == COPSE_COLL_SCATTERV) args.recv = COPSE_IN_PLACE;
    if (IsInPlace(i) && collective_ != COPSE_COLL_SCATTERV) args.send = COPSE_IN_PLACE;
    if (collective_ == COPSE_COLL_ALLTOALLV || (collective_ == COPSE_COLL_SCATTERV && i == kRoot)) {
      args.send_counts = sends_[i].counts.data();
      args.send_displacements = sends_[i].displacements.data();
    }
    if (collective_ == COPSE_COLL_REDUCE_SCATTERV) args.recv_counts = sends_[i].counts.data();
    if (lists_received) {
      args.recv_counts = receives_[i].counts.data();
      args.recv_displacements = receives_[i].displacements.data();
    }
    if (NeedsAgreement(collective_)) {
      EXPECT_EQ(LateBytes(args, i, kSize), LateBytesOf(i));
    }
    AddRank(args, layout, order);
  }
  void Make() {
    const NodeLayout layout = Nodes({1, 1, 2, 2, 1, 2});
    copse_coll_args_t args{.collective = collective_, .type = COPSE_DT_UINT8};
    const Lists lists = ListsOf(0, true, 0);
    args.recv_counts = lists.counts.data();
    const std::vector<uint32_t> order = ReverseOrder(args, layout);
    for (uint32_t i = 0; i < kSize; ++i) MakeRank(i, layout, order);
    EXPECT_EQ(ranks_[0].fragmentation.calls.size(), order.size());
  }

  bool Receives(uint32_t from, uint32_t to) const {
    if (collective_ == COPSE_COLL_GATHERV) return to == kRoot;
    if (collective_ == COPSE_COLL_SCATTERV) return from == kRoot && !IsInPlace(to);
    return collective_ != COPSE_COLL_REDUCE_SCATTERV || from == 0;
  }
  uint64_t LateBytesOf(uint32_t to) const {
    uint64_t bytes = 0;
    for (uint32_t from = 0; from < kSize; ++from) {
      const bool is_own = from == to && collective_ != COPSE_COLL_SCATTERV;
      if (Receives(from, to) && !is_own && Length(from, to) > 8192) bytes += Length(from, to) - 8192;
    }
    return bytes;
  }
  // What `from` has for `to`, at its end.
  uint8_t Expected(uint32_t from, uint32_t to, uint64_t k) const {
    if (gathers()) return Pattern(from, k);
    if (collective_ != COPSE_COLL_REDUCE_SCATTERV) return Pattern(from, sends_[from].displacements[to] + k);
    uint64_t at = k;
    for (uint32_t before = 0; before < to; ++before) at += Length(0, before);
    return Sum(kSize, at);
  }
  // Calls `visit` with the places of what `to` receives, and with what has to be there.
  template <typename Visit>
  void ForReceived(uint32_t to, Visit visit) const {
    for (uint32_t from = 0; from < kSize; ++from) {
      const uint64_t at = scatters() ? 0 : receives_[to].displacements[from];
      for (uint64_t k = 0; Receives(from, to) && k < Length(from, to); ++k) visit(at + k, Expected(from, to, k));
    }
  }

  const copse_collective_t collective_ = std::get<0>(GetParam());
  const bool in_place_ = std::get<1>(GetParam());
  std::vector<Lists> sends_, receives_;
};

TEST_P(DivisionOfListsTest, ItsCallsBringEveryBlockToItsPlace) {
  Make();
  CarryAll();
  for (uint32_t i = 0; i < kSize; ++i) {
    uint64_t received = 0, in_runs = 0;
    ForReceived(i, [&](uint64_t at, uint8_t expected) {
      ++received;
      ASSERT_EQ(ranks_[i].receive[at], expected) << "rank " << i << ", byte " << at;
    });
    for (const Extent& run : ranks_[i].fragmentation.runs) in_runs += run.bytes;
    EXPECT_EQ(in_runs, received) << i;
    // Two blocks lie side by side.
    EXPECT_LE(ranks_[i].fragmentation.runs.size(), kSize - 1);
  }
}

TEST_P(DivisionOfListsTest, AllBytesOutsideGranulesAreThereBeforeTheCalls) {
  Make();
  CarryEdges();
  for (uint32_t i = 0; i < kSize; ++i) {
    std::vector<bool> is_right(ranks_[i].receive.size(), false);
    ForReceived(i, [&](uint64_t at, uint8_t expected) { is_right[at] = ranks_[i].receive[at] == expected; });
    ExpectOthersGuarded(i, [&](uint64_t k) { return is_right[k]; });
  }
}

INSTANTIATE_TEST_SUITE_P(All, DivisionOfListsTest,
                         testing::Combine(testing::Values(COPSE_COLL_ALLTOALLV, COPSE_COLL_ALLGATHERV,
                                                          COPSE_COLL_GATHERV, COPSE_COLL_SCATTERV,
                                                          COPSE_COLL_REDUCE_SCATTERV),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::string(client::CollectiveName(std::get<0>(info.param))) +
                                  (std::get<1>(info.param) ? "_in_place" : "");
                         });

TEST(WritesPartsOnlyTest, OwnBlocksAreWrittenAgainWhereAllAreGathered) {
  const NodeLayout layout = Nodes({1, 2});
  copse_coll_args_t args{.type = COPSE_DT_UINT8, .op = COPSE_OP_SUM, .count = 1 << 20};
  const auto writes_parts_only = [&](copse_collective_t collective, uint32_t rank) {
    args.collective = collective;
    return WritesExtentsOnly(FragmentationOf(args, rank, layout));
  };
  for (const auto collective : {COPSE_COLL_ALLREDUCE, COPSE_COLL_ALLTOALL, COPSE_COLL_SCATTER}) {
    EXPECT_TRUE(writes_parts_only(collective, 0));
  }
  EXPECT_TRUE(writes_parts_only(COPSE_COLL_BCAST, 1));
  EXPECT_FALSE(writes_parts_only(COPSE_COLL_ALLGATHER, 0));
  EXPECT_FALSE(writes_parts_only(COPSE_COLL_GATHER, 0));
  EXPECT_TRUE(writes_parts_only(COPSE_COLL_GATHER, 1));
}

TEST(MayDivideTest, ShortCallsAndBarriersAreNotDivided) {
  copse_coll_args_t args{.collective = COPSE_COLL_BARRIER, .type = COPSE_DT_DOUBLE, .count = 1 << 20};
  EXPECT_FALSE(MayFragment(args, 4));
  for (const auto collective : {COPSE_COLL_BCAST, COPSE_COLL_REDUCE, COPSE_COLL_ALLREDUCE, COPSE_COLL_SCATTER,
                                COPSE_COLL_REDUCE_SCATTER, COPSE_COLL_SCAN, COPSE_COLL_EXSCAN}) {
    args.collective = collective;
    args.count = 8192;
    EXPECT_TRUE(MayFragment(args, 4)) << collective;
    args.count = 8191;
    EXPECT_FALSE(MayFragment(args, 4)) << collective;
  }
}

TEST(MayDivideTest, CountsThatAllRanksKnowDecide) {
  copse_coll_args_t args{.collective = COPSE_COLL_REDUCE_SCATTERV, .type = COPSE_DT_UINT8};
  const uint64_t one_long[] = {0, 64 << 10, 5}, all_short[] = {(64 << 10) - 1, (64 << 10) - 1, 0};
  args.recv_counts = one_long;
  EXPECT_TRUE(MayFragment(args, 3));
  args.recv_counts = all_short;
  EXPECT_FALSE(MayFragment(args, 3));
  // The edges of its blocks are 8 KiB.
  args.collective = COPSE_COLL_ALLGATHERV;
  const uint64_t long_enough[] = {264 << 10, 264 << 10, 8 << 10}, too_short[] = {264 << 10, (264 << 10) - 1, 8 << 10};
  args.recv_counts = long_enough;
  EXPECT_TRUE(MayFragment(args, 3));
  args.recv_counts = too_short;
  EXPECT_FALSE(MayFragment(args, 3));
  EXPECT_FALSE(NeedsAgreement(COPSE_COLL_ALLGATHERV));
}

TEST(MayDivideTest, RanksAgreeWhereNoneKnowsAllCounts) {
  copse_coll_args_t args{};
  for (const auto collective : {COPSE_COLL_ALLTOALLV, COPSE_COLL_GATHERV, COPSE_COLL_SCATTERV}) {
    args.collective = collective;
    EXPECT_TRUE(NeedsAgreement(collective) && MayFragment(args, 4)) << collective;
  }
  EXPECT_TRUE(IsWorthFragmenting(COPSE_COLL_SCATTERV, 64 << 10));
  EXPECT_FALSE(IsWorthFragmenting(COPSE_COLL_SCATTERV, (64 << 10) - 1));
  EXPECT_TRUE(IsWorthFragmenting(COPSE_COLL_GATHERV, 512 << 10));
  EXPECT_FALSE(IsWorthFragmenting(COPSE_COLL_GATHERV, (512 << 10) - 1));
}

}  // namespace
}  // namespace copse::tnbc
