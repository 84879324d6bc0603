// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_program.h"

#include <algorithm>
#include <tuple>

namespace copse::planner {

using schedule::Primitive;
using schedule::Step;

uint32_t CostProgram::WaitFor(uint32_t phase, uint32_t peer) const {
  const auto it = std::lower_bound(
      packets.begin(), packets.end(), std::tuple(phase, peer),
      [](const Awaited& a, const std::tuple<uint32_t, uint32_t>& key) { return std::tuple(a.phase, a.peer) < key; });
  return it != packets.end() && it->phase == phase && it->peer == peer ? it->wait : kNoWait;
}

CostProgram CompileForCost(const schedule::NodeSequence& sequence, uint32_t local_ranks) {
  CostProgram program;
  program.wait_of_rank.assign(local_ranks, CostProgram::kNoWait);
  uint32_t wait = 0, count = 0;
  for (const Primitive& p : sequence.primitives) {
    switch (p.step) {
      case Step::kRecvFrom:
        program.packets.push_back({p.phase, p.peer, wait});
        ++count;
        break;
      case Step::kRecvLocal:
        program.wait_of_rank[p.peer] = wait;
        ++count;
        break;
      case Step::kWait:
        program.wait_counts.push_back(count);
        ++wait;
        count = 0;
        break;
      default:
        break;
    }
    uint64_t bytes = p.bytes == schedule::kWholeSegment ? CostProgram::kWholeSegment : p.bytes;
    if (p.step == Step::kCopyRuns) {
      bytes = 0;
      for (const schedule::BufferRun& run : p.runs) bytes += run.bytes;
      program.copy_runs += p.runs.size();
    }
    program.ops.push_back({p.step, p.phase, p.peer, static_cast<uint32_t>(p.operands.size()), bytes, p.lands});
  }
  std::sort(program.packets.begin(), program.packets.end(),
            [](const auto& a, const auto& b) { return std::tuple(a.phase, a.peer) < std::tuple(b.phase, b.peer); });
  return program;
}

}  // namespace copse::planner
