// SPDX-License-Identifier: Apache-2.0
//
// What a call is: the collective and its arguments, as planner, daemon and simulator see it.
#ifndef COPSE_PLANNER_SCHEDULE_COLLECTIVE_H_
#define COPSE_PLANNER_SCHEDULE_COLLECTIVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "offload_emu/alu.h"

namespace copse::schedule {

// The values are those of copse_collective_t in copse.h, and part of the plan format and packet hash: never renumber.
enum class Collective : uint8_t { kBarrier = 0, kBcast = 1, kReduce = 2, kAllreduce = 3 };
inline constexpr int kCollectiveCount = 4;
std::string_view CollectiveName(Collective collective);
std::optional<Collective> CollectiveFromName(std::string_view name);
// Whether the collective has a root rank, and whether it combines values.
inline constexpr bool HasRoot(Collective c) { return c == Collective::kBcast || c == Collective::kReduce; }
inline constexpr bool Reduces(Collective c) { return c == Collective::kReduce || c == Collective::kAllreduce; }

// Arguments that every rank of a call must give alike (MPI's rule); the packet hash covers them all.
struct CallArguments {
  Collective collective = Collective::kBarrier;
  emu::AluType type = emu::AluType::kUint8;
  emu::AluOp op = emu::AluOp::kSum;
  uint64_t count = 0;  // elements
  uint32_t root = 0;   // rank; 0 where the collective has none

  uint64_t bytes() const { return count * emu::AluTypeBytes(type); }
  // Collectives without a root, type or operation are equal whatever stands in those fields.
  friend bool operator==(const CallArguments& a, const CallArguments& b);
};

// "allreduce sum double count 6", "bcast int32 count 4 root 2", "barrier".
std::string DescribeArguments(const CallArguments& arguments);
// 16-bit hash of (collective, operation, type, element count, root).
uint16_t HashArguments(const CallArguments& arguments);

}  // namespace copse::schedule

#endif  // COPSE_PLANNER_SCHEDULE_COLLECTIVE_H_
