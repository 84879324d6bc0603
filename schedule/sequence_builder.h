// SPDX-License-Identifier: Apache-2.0
//
// Writes primitive sequences for the expansions of all collectives.
#ifndef COPSE_SCHEDULE_SEQUENCE_BUILDER_H_
#define COPSE_SCHEDULE_SEQUENCE_BUILDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/plan.h"
#include "schedule/primitive.h"

namespace copse::schedule {

// Messages along a tree have these phases.
inline constexpr uint16_t kUp = 0;
inline constexpr uint16_t kDown = 1;

// A SequenceBuilder writes one node's sequence, step by step, from kStart to kEnd.
class SequenceBuilder {
 public:
  SequenceBuilder(const Plan& plan, NodeIndex node) : priority_(plan.priority) {
    sequence_.node = node;
    Add({.step = Step::kStart});
  }

  void RecvFrom(uint32_t node, uint16_t phase, uint64_t bytes = kWholeSegment) {
    Add({.step = Step::kRecvFrom,
         .peer = node,
         .phase = phase,
         .operands = {},
         .target = {},
         .bytes = static_cast<uint32_t>(bytes)});
  }
  void RecvLocal(uint32_t local, uint16_t phase) { Add({.step = Step::kRecvLocal, .peer = local, .phase = phase}); }
  void Wait(uint16_t phase) { Add({.step = Step::kWait, .phase = phase}); }
  void SendTo(uint32_t node, uint16_t phase, Buffer from, uint32_t bytes = kWholeSegment) {
    Add({.step = Step::kSendTo, .peer = node, .phase = phase, .operands = {from}, .target = {}, .bytes = bytes});
  }
  void Copy(Buffer from, Buffer to) { Add({.step = Step::kCopy, .operands = {from}, .target = to}); }
  void CopyRuns(std::vector<BufferRun> runs) {
    if (!runs.empty()) Add({.step = Step::kCopyRuns, .operands = {}, .target = {}, .runs = std::move(runs)});
  }
  // Copies the whole message of one neighbor in `phase`, which nothing else reads, so that it may be placed directly.
  // Meant for puts only (IsPut): shorter messages are better copied in one list with other data.
  void Land(uint16_t phase, std::vector<BufferRun> runs) {
    if (!runs.empty()) {
      Add({.step = Step::kCopyRuns,
           .phase = phase,
           .lands = true,
           .operands = {},
           .target = {},
           .runs = std::move(runs)});
    }
  }
  void Reduce(std::vector<Buffer> operands, Buffer to, uint32_t bytes = kWholeSegment) {
    Add({.step = Step::kReduce, .operands = std::move(operands), .target = to, .bytes = bytes});
  }
  void Deliver(uint32_t local, Buffer from) {
    if (from.place == Place::kNone) return Release(local);
    Add({.step = Step::kDeliver, .peer = local, .operands = {from}});
  }
  // Delivers the whole message of one neighbor in `phase`, which nothing else reads, so that it may be placed directly.
  void DeliverAlone(uint32_t local, Buffer from, uint16_t phase) {
    Add({.step = Step::kDeliver, .peer = local, .phase = phase, .lands = true, .operands = {from}});
  }
  void Release(uint32_t local) { Add({.step = Step::kRelease, .peer = local}); }
  void Append(Primitive primitive) { sequence_.primitives.push_back(std::move(primitive)); }
  NodeSequence End() {
    Add({.step = Step::kEnd});
    sequence_.primitives.shrink_to_fit();  // daemons keep sequences for a team's life
    return std::move(sequence_);
  }

  // Reduces the operands, in this order, and returns the place of the result. A single operand is the result itself.
  Buffer Combine(std::vector<Buffer> operands, uint32_t bytes = kWholeSegment) {
    if (operands.size() == 1) return operands[0];
    Reduce(std::move(operands), {Place::kScratch}, bytes);
    return {Place::kScratch};
  }

 private:
  void Add(Primitive primitive) {
    primitive.priority = priority_;
    sequence_.primitives.push_back(std::move(primitive));
  }

  uint8_t priority_;
  NodeSequence sequence_;
};

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_SEQUENCE_BUILDER_H_
