// SPDX-License-Identifier: Apache-2.0
//
// The classes of message sizes, one per plan, and the typical message for which each plan is made.
#ifndef COPSE_PLANNER_SIZE_CLASS_H_
#define COPSE_PLANNER_SIZE_CLASS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "schedule/plan.h"

namespace copse::planner {

// SizeClass is an inclusive range of bytes.
struct SizeClass {
  uint64_t bytes_min = 0;
  uint64_t bytes_max = 0;
  friend bool operator==(const SizeClass&, const SizeClass&) = default;
};

// These messages take several chunks per call. The latency of the first segment still matters for the first class; for
// the second only the costs per byte, and per segment in the daemons, matter.
inline constexpr SizeClass kLongMessages = {schedule::kMessageBytesMax + 1, 1024 * 1024};
inline constexpr SizeClass kLongestMessages = {kLongMessages.bytes_max + 1, schedule::kCallBytesMax};

// Returns the classes of collectives of blocks (HasBlocks), by one block (schedule::PlanBytesOf), ascending. An
// alltoall forwards short blocks, and sends longer ones directly between all pairs.
absl::Span<const SizeClass> BlockClasses(Collective collective);
// Returns the class of such a call. `bytes` is PlanBytesOf.
SizeClass BlockClassOf(Collective collective, uint64_t bytes);

// Returns the size that represents the class, in bytes: its geometric middle, rounded down; a class that begins at 0
// counts from 1.
//  - Blocks of up to kMessageBytesMax: the largest; together with the blocks of all ranks, bandwidth dominates.
//  - Messages beyond kMessageBytesMax: 256 KiB; kLongestMessages: 1 MiB; blocks: 256 KiB. With the largest, most of the
//    class would get a tree that avoids repeated sends although they are cheap.
uint64_t TypicalBytes(Collective collective, const SizeClass& size_class);

// Returns the call for which plans of the class are made, priced, compared and explained: of TypicalBytes, from rank 0.
CallArguments TypicalCall(Collective collective, const SizeClass& size_class);
CallArguments TypicalCall(const schedule::Plan& plan);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SIZE_CLASS_H_
