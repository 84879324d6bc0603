// SPDX-License-Identifier: Apache-2.0
#include "schedule/testing/rank_data.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/prng.h"
#include "collectives/call_arguments.h"
#include "offload_emu/alu/alu.h"
#include "schedule/reference.h"

namespace copse::schedule {
namespace {

constexpr uint8_t kUntouched = 0x5a;

// Returns the elements that `from` gives to the ranks before `to`.
uint64_t BlockBegin(const WholeCall& call, uint32_t from, uint32_t to, uint32_t size) {
  uint64_t begin = 0;
  for (uint32_t other = 0; other < to; ++other) begin += BlockCount(call, from, other, size);
  return begin;
}

// Places blocks of these bytes, one for each rank.
BlockList Place(const std::vector<uint64_t>& bytes, bool displaced, uint64_t unit, Prng* prng) {
  std::vector<uint32_t> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  for (auto i = static_cast<uint32_t>(order.size()); displaced && i > 1; --i) {
    std::swap(order[i - 1], order[prng->Below(i)]);
  }
  BlockList blocks(bytes.size());
  uint64_t at = 0;
  for (const uint32_t rank : order) {
    if (displaced) at += prng->Below(4) * unit;
    blocks[rank] = {at, bytes[rank]};
    at += bytes[rank];
  }
  return blocks;
}

uint64_t SpanOf(const BlockList& blocks) {
  uint64_t span = 0;
  for (const Block& block : blocks) span = std::max(span, block.offset + block.bytes);
  return span;
}

void Put(const std::vector<uint8_t>& from, uint64_t at, std::vector<uint8_t>* to) {
  CHECK_LE(at + from.size(), to->size());
  if (!from.empty()) std::memcpy(to->data() + at, from.data(), from.size());
}

// Makes one rank's data.
class Maker {
 public:
  Maker(const WholeCall& call, uint32_t rank, uint32_t size)
      : call_(call),
        a_(ArgumentsOf(call)),
        rank_(rank),
        size_(size),
        unit_(ElementBytes(a_.type)),
        sends_(SendBuffer(a_.collective, rank, a_.root)),
        receives_(ReceiveBuffer(a_.collective, rank, a_.root)) {}

  RankData Make() {
    if (a_.collective == Collective::kBarrier) return {};
    Prng prng(call_.seed * 1000003 + rank_);
    const bool slices = PlanCollective(a_.collective) == Collective::kReduceScatter;
    const bool displaced = call_.displaced && IsIrregular(a_.collective);
    const BlockList send = Place(SizesOf(true), displaced && !slices, unit_, &prng);
    const BlockList receive = Place(SizesOf(false), displaced, unit_, &prng);
    if (GivesSendBlocks(a_.collective, a_.options, rank_, a_.root)) data_.send_blocks = send;
    if (GivesReceiveBlocks(a_.collective, a_.options, rank_, a_.root)) data_.receive_blocks = receive;
    if (sends_ == BufferKind::kOne) data_.contribution_bytes = BlockCount(call_, rank_, rank_, size_) * unit_;
    if (receives_ == BufferKind::kOne) data_.result_bytes = ResultCount() * unit_;
    if (receives_ == BufferKind::kBlocks) data_.receive.assign(SpanOf(receive), kUntouched);
    if (receives_ == BufferKind::kOne) data_.receive.assign(data_.result_bytes, kUntouched);
    PutContribution(send, receive);
    data_.expected = data_.receive;
    PutResult(send, receive);
    return std::move(data_);
  }

 private:
  // Bytes, by rank, that this rank sends or receives.
  std::vector<uint64_t> SizesOf(bool send) const {
    std::vector<uint64_t> bytes(size_);
    for (uint32_t other = 0; other < size_; ++other) {
      bytes[other] = (send ? BlockCount(call_, rank_, other, size_) : BlockCount(call_, other, rank_, size_)) * unit_;
    }
    return bytes;
  }
  uint64_t ResultCount() const { return BlockCount(call_, HasRoot(a_.collective) ? a_.root : rank_, rank_, size_); }
  std::vector<uint8_t> BlockOf(uint32_t from, uint32_t to) const {
    const bool sends_blocks = SendBuffer(a_.collective, from, a_.root) == BufferKind::kBlocks;
    return ContributionRange(a_, from, call_.seed, sends_blocks ? BlockBegin(call_, from, to, size_) : 0,
                             BlockCount(call_, from, to, size_));
  }

  void PutContribution(const BlockList& send, const BlockList& receive) {
    if (sends_ == BufferKind::kBlocks) {
      data_.send.assign(SpanOf(send), kUntouched);
      for (uint32_t to = 0; to < size_; ++to) Put(BlockOf(rank_, to), send[to].offset, &data_.send);
    }
    if (sends_ != BufferKind::kOne) return;
    const bool nests = TraitsOf(a_.collective).nesting == Nesting::kSendInReceive;
    if (call_.in_place && nests && receives_ != BufferKind::kNone) {
      data_.contribution_at = receives_ == BufferKind::kBlocks ? receive[rank_].offset : 0;
      return Put(BlockOf(rank_, rank_), *data_.contribution_at, &data_.receive);
    }
    data_.send = BlockOf(rank_, rank_);
  }

  void PutResult(const BlockList& send, const BlockList& receive) {
    if (receives_ == BufferKind::kBlocks) {
      for (uint32_t from = 0; from < size_; ++from) Put(BlockOf(from, rank_), receive[from].offset, &data_.expected);
    }
    if (receives_ != BufferKind::kOne) return;
    if (call_.in_place && sends_ == BufferKind::kBlocks && HasRoot(a_.collective)) {
      data_.result_at = send[rank_].offset;
      data_.receive.clear();
      data_.expected.clear();
      return;
    }
    data_.expected = Result();
  }

  std::vector<uint8_t> Result() const {
    if (!Reduces(a_.collective)) return BlockOf(SourceOf(a_.collective, 0, rank_, size_, a_.root), rank_);
    const uint64_t begin = sends_ == BufferKind::kBlocks ? BlockBegin(call_, rank_, rank_, size_) : 0;
    return CombinedRange(a_, OperandCount(a_.collective, rank_, size_), call_.seed, begin, ResultCount());
  }

  const WholeCall& call_;
  const CallArguments a_;
  const uint32_t rank_;
  const uint32_t size_;
  const uint64_t unit_;
  const BufferKind sends_;
  const BufferKind receives_;
  RankData data_;
};

}  // namespace

CallArguments ArgumentsOf(const WholeCall& call) {
  CallArguments a = call.arguments;
  if (!IsIrregular(a.collective)) return a;
  const bool known = CountsAllBlocks(a.collective);
  const bool is_bounded = HasPairSizes(a.collective) && (a.options & kPairsBounded) != 0;
  if (!is_bounded) a.count = known ? std::accumulate(call.counts.begin(), call.counts.end(), uint64_t{0}) : 0;
  if (!KnowsCounts(a.collective, a.options)) return a;
  std::vector<uint64_t> bytes;
  for (const uint64_t count : call.counts) bytes.push_back(count * ElementBytes(a.type));
  a.counts_hash = HashCounts(bytes);
  return a;
}

uint64_t BlockCount(const WholeCall& call, uint32_t from, uint32_t to, uint32_t size) {
  const Collective c = call.arguments.collective;
  if (!IsIrregular(c)) return call.arguments.count;
  const bool is_alltoall = HasPairSizes(c);
  CHECK_EQ(call.counts.size(), is_alltoall ? uint64_t{size} * size : size);
  if (is_alltoall) return call.counts[uint64_t{from} * size + to];
  return call.counts[c == Collective::kScatterv || c == Collective::kReduceScatterv ? to : from];
}

RankData MakeRankData(const WholeCall& call, uint32_t rank, uint32_t size) { return Maker(call, rank, size).Make(); }

}  // namespace copse::schedule
