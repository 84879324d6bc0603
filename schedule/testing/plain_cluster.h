// SPDX-License-Identifier: Apache-2.0
//
// Runs sequences of block collectives on plain memory instead of an engine, for tests.
#ifndef COPSE_SCHEDULE_TESTING_PLAIN_CLUSTER_H_
#define COPSE_SCHEDULE_TESTING_PLAIN_CLUSTER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "collectives/call_arguments.h"
#include "gtest/gtest.h"
#include "offload_emu/alu/alu.h"
#include "schedule/blocks.h"
#include "schedule/expand.h"
#include "schedule/plan.h"

namespace copse::schedule {

using Bytes = std::vector<uint8_t>;

// Places ranks at random, at least one per node.
inline TeamShape RandomShape(uint32_t nodes, uint32_t ranks, Prng* prng) {
  TeamShape shape{.node_count = nodes};
  std::vector<uint32_t> at(ranks);
  for (uint32_t r = 0; r < ranks; ++r) at[r] = r < nodes ? r : static_cast<uint32_t>(prng->Below(nodes));
  for (uint32_t r = ranks; r > 1; --r) std::swap(at[r - 1], at[prng->Below(r)]);
  // Node indices are numbered by their first ranks.
  std::map<uint32_t, uint32_t> number;
  for (const uint32_t v : at) {
    const auto index = number.emplace(v, static_cast<uint32_t>(number.size())).first->second;
    shape.node_of_rank.push_back(NodeIndex(index));
  }
  return shape;
}

// Runs all segments of one call on all nodes, one segment after another, on plain memory. Reductions are sums of
// 32-bit words, unless set otherwise.
class PlainCluster {
 public:
  PlainCluster(const Plan& plan, const TeamShape& shape)
      : plan_(plan),
        shape_(shape),
        index_(plan),
        order_(shape_, plan, index_),
        scratch_(plan.node_count, Bytes(kMessageBytesMax)) {}

  const PackedOrder& order() const { return order_; }
  const ShapeIndex& shape() const { return shape_; }
  const TreeIndex& index() const { return index_; }

  struct Rank {
    Bytes send;
    Bytes receive;
    BlockList send_list;
    BlockList receive_list;
  };
  std::vector<Rank> ranks;
  std::vector<Bytes> notes;

  // Returns the call's arguments at `node`.
  BlockCall CallAt(uint32_t node, const BlockSizes& sizes, Collective collective, uint32_t root, bool has_notes) {
    std::vector<RankBuffers>& buffers = buffers_[node];
    buffers.clear();
    for (const copse::Rank r : shape_.RanksOf(NodeIndex(node))) {
      const Rank& rank = ranks[r.value()];
      buffers.push_back({rank.send_list.empty() ? nullptr : &rank.send_list,
                         rank.receive_list.empty() ? nullptr : &rank.receive_list});
    }
    return {.plan = &plan_,
            .index = &index_,
            .sizes = &sizes,
            .node = NodeIndex(node),
            .collective = collective,
            .root = root,
            .ranks = buffers,
            .has_notes = has_notes};
  }

  // Expands one segment of the call at every node.
  std::vector<NodeSequence> ExpandAll(const BlockSizes& sizes, Collective collective, uint32_t root, bool has_notes,
                                      const Slice& slice) {
    std::vector<NodeSequence> sequences;
    for (uint32_t v = 0; v < plan_.node_count; ++v) {
      auto sequence = ExpandBlocks(CallAt(v, sizes, collective, root, has_notes), slice);
      EXPECT_TRUE(sequence.ok()) << sequence.status();
      if (sequence.ok()) sequences.push_back(*std::move(sequence));
    }
    return sequences;
  }

  void Run(std::vector<NodeSequence> sequences) {
    struct Awaited {
      uint32_t peer;
      uint16_t phase;
      uint32_t bytes;
    };
    struct State {
      size_t next = 0;
      std::vector<Awaited> awaited;
      std::map<uint32_t, std::pair<uint16_t, Bytes>> arrived;
      std::set<size_t> landed;  // primitives completed by direct placement
    };
    std::vector<State> states(sequences.size());
    const auto at = [&](uint32_t v, const Buffer& b, uint64_t bytes) -> uint8_t* {
      Bytes* memory = nullptr;
      const auto local = shape_.RanksOf(NodeIndex(v));
      switch (b.place) {
        case Place::kScratch:
          memory = &scratch_[v];
          break;
        case Place::kCell:
          memory = &states[v].arrived.at(b.index).second;
          break;
        case Place::kRankSend:
          memory = &ranks[local[b.index].value()].send;
          break;
        case Place::kRankRecv:
          memory = &ranks[local[b.index].value()].receive;
          break;
        case Place::kNotes:
          memory = &notes[v];
          break;
        case Place::kNone:
          break;
      }
      EXPECT_NE(memory, nullptr);
      EXPECT_LE(b.offset + bytes, memory->size()) << "node " << v << " place " << static_cast<int>(b.place);
      return b.offset + bytes <= memory->size() ? memory->data() + b.offset : scratch_[v].data();
    };
    // A receive buffer's content is unspecified whatever was written there: blocks that a rank receives may overlap.
    const auto read = [&](uint32_t v, const Buffer& b, uint64_t bytes) -> const uint8_t* {
      EXPECT_NE(static_cast<int>(b.place), static_cast<int>(Place::kRankRecv)) << "node " << v;
      return at(v, b, bytes);
    };
    // Places data directly as early as possible; it is then absent from the eager buffer.
    const auto land = [&](uint32_t from, const Primitive& send, Bytes* message) {
      State& state = states[send.peer];
      const std::vector<Primitive>& steps = sequences[send.peer].primitives;
      for (size_t i = state.next; i < steps.size(); ++i) {
        const Primitive& p = steps[i];
        if (!p.lands || p.runs.empty() || p.runs[0].from.index != from || p.phase != send.phase) continue;
        for (const BufferRun& run : p.runs) {
          EXPECT_EQ(run.from, (Buffer{Place::kCell, from, run.from.offset}));
          ASSERT_LE(run.from.offset + run.bytes, message->size());
          std::memcpy(at(send.peer, run.to, run.bytes), message->data() + run.from.offset, run.bytes);
        }
        state.landed.insert(i);
        ++landed;
        message->assign(message->size(), 0xee);
        return;
      }
    };
    bool moved = true;
    while (moved) {
      moved = false;
      for (uint32_t v = 0; v < sequences.size(); ++v) {
        State& state = states[v];
        while (state.next < sequences[v].primitives.size()) {
          const Primitive& p = sequences[v].primitives[state.next];
          if (p.step == Step::kWait) {
            const bool ready = std::all_of(state.awaited.begin(), state.awaited.end(), [&](const Awaited& w) {
              const auto it = state.arrived.find(w.peer);
              return it != state.arrived.end() && it->second.first == w.phase;
            });
            if (!ready) break;
            for (const Awaited& w : state.awaited) {
              EXPECT_EQ(state.arrived.at(w.peer).second.size(), w.bytes) << "from node " << w.peer << " to node " << v;
            }
            state.awaited.clear();
          }
          if (p.step == Step::kRecvFrom) state.awaited.push_back({p.peer, p.phase, p.bytes});
          if (p.step == Step::kSendTo) {
            EXPECT_LE(p.bytes, kSegmentBytesMax + sizeof(PairNote));
            ++messages;
            message_bytes += p.bytes;
            const uint8_t* from = p.bytes == 0 ? nullptr : read(v, p.operands[0], p.bytes);
            Bytes message(from, from + p.bytes);
            if (IsPut(p.bytes)) land(v, p, &message);
            const bool first = states[p.peer].arrived.emplace(v, std::pair(p.phase, std::move(message))).second;
            EXPECT_TRUE(first) << v << " to " << p.peer << " twice";
          }
          for (const BufferRun& run : p.runs) {
            if (state.landed.contains(state.next)) break;
            const uint8_t* from = read(v, run.from, run.bytes);
            std::memmove(at(v, run.to, run.bytes), from, run.bytes);
          }
          if (p.step == Step::kCopy) std::memmove(at(v, p.target, p.bytes), read(v, p.operands[0], p.bytes), p.bytes);
          if (p.step == Step::kReduce) {
            Bytes sum(p.bytes, 0);
            const uint32_t type_bytes = ElementBytes(type);
            bool is_first = true;
            for (const Buffer& operand : p.operands) {
              const uint8_t* operands[] = {sum.data(), read(v, operand, p.bytes)};
              // The first operand is only copied. memcpy must not be given an empty vector's data().
              if (is_first) std::copy(operands[1], operands[1] + p.bytes, sum.begin());
              const bool sums = is_first || emu::AluReduce(op, type, operands, p.bytes / type_bytes, sum.data()).ok();
              EXPECT_TRUE(sums);
              is_first = false;
            }
            std::copy(sum.begin(), sum.end(), at(v, p.target, p.bytes));
          }
          ++state.next;
          moved = true;
        }
      }
    }
    for (uint32_t v = 0; v < sequences.size(); ++v) {
      EXPECT_EQ(states[v].next, sequences[v].primitives.size()) << "node " << v << " waits for ever";
      uint32_t awaited = 0;
      for (const Primitive& p : sequences[v].primitives) awaited += p.step == Step::kRecvFrom;
      EXPECT_EQ(states[v].arrived.size(), awaited) << "node " << v << " gets what it does not await";
    }
  }

  ElementOp op = ElementOp::kSum;
  ElementType type = ElementType::kUint32;
  uint64_t messages = 0;
  uint64_t landed = 0;  // of them
  uint64_t message_bytes = 0;

 private:
  const Plan plan_;
  const ShapeIndex shape_;
  const TreeIndex index_;
  const PackedOrder order_;
  std::map<uint32_t, std::vector<RankBuffers>> buffers_;
  // Holds each node's scratch for all segments: faulting its pages in costs more than all that is done with it.
  std::vector<Bytes> scratch_;
};

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_TESTING_PLAIN_CLUSTER_H_
