// SPDX-License-Identifier: Apache-2.0
#include "schedule/testing/staging.h"

#include <algorithm>
#include <bit>
#include <map>

#include "offload_emu/packet.h"
#include "schedule/lower.h"

namespace copse::schedule {
namespace {

// The least buffer of the engine; its buffers are powers of two (offload_emu/pool.h).
constexpr uint64_t kLeastStaging = 64;

uint64_t RoundedStaging(uint64_t bytes) { return bytes == 0 ? 0 : std::max(kLeastStaging, std::bit_ceil(bytes)); }

}  // namespace

StagingBytes StagingOf(const Plan& plan, const std::vector<NodeSequence>& segments) {
  std::map<uint32_t, uint64_t> cells;  // by peer: bytes of the eager buffer in use
  std::map<uint32_t, uint64_t> held;   // by peer: the same without data placed directly
  std::map<uint32_t, uint64_t> sends;  // by peer
  uint64_t scratch = 0;
  for (size_t s = 0; s < segments.size(); ++s) {
    const uint64_t base = s * SegmentStride(plan);
    const auto uses = [&](const Buffer& buffer, uint64_t bytes, bool lands = false) {
      if (bytes == 0) return;
      const uint64_t end = base + buffer.offset + bytes;
      if (buffer.place == Place::kScratch) scratch = std::max(scratch, end);
      if (buffer.place != Place::kCell) return;
      for (auto* list : {&cells, lands ? nullptr : &held}) {
        if (list == nullptr) continue;
        uint64_t& used = (*list)[buffer.index];
        used = std::max(used, end);
      }
    };
    for (const Primitive& p : segments[s].primitives) {
      for (const Buffer& operand : p.operands) uses(operand, p.bytes);
      if (p.step == Step::kSendTo) sends[p.peer] += sizeof(emu::Record) + emu::PaddedBytes(p.bytes);
      if (p.step == Step::kReduce || p.step == Step::kCopy) uses(p.target, p.bytes);
      for (const BufferRun& run : p.runs) {
        uses(run.from, run.bytes, p.lands);
        uses(run.to, run.bytes);
      }
    }
  }
  StagingBytes staging;
  const auto add = [&](uint64_t used, uint64_t* to) {
    if (used == 0) return;
    const uint64_t rounded = RoundedStaging(used);
    *to += rounded;
    ++staging.buffers;
    staging.largest = std::max(staging.largest, rounded);
  };
  add(scratch, &staging.scratch);
  for (const auto& [peer, used] : cells) add(used, &staging.cells);
  staging.landing = staging.cells;
  for (const auto& [peer, used] : held) staging.landing -= RoundedStaging(used);
  for (const auto& [peer, bytes] : sends) {
    staging.frames += std::max(kLeastStaging, std::bit_ceil(bytes + sizeof(emu::FrameHeader)));
  }
  return staging;
}

}  // namespace copse::schedule
