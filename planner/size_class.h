// SPDX-License-Identifier: Apache-2.0
//
// Defines the classes of message sizes, one per plan, and the typical message for which each plan is made.
#ifndef COPSE_PLANNER_SIZE_CLASS_H_
#define COPSE_PLANNER_SIZE_CLASS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "schedule/plan.h"

namespace copse::planner {

// A SizeClass is an inclusive range of bytes.
struct SizeClass {
  uint64_t bytes_min = 0;
  uint64_t bytes_max = 0;
  friend bool operator==(const SizeClass&, const SizeClass&) = default;
};

// Messages of these two classes take several chunks per call. In the first, the latency of the first segment still
// matters; in the second, only the costs per byte, and per segment in the daemons, do.
inline constexpr SizeClass kLongMessages = {schedule::kMessageBytesMax + 1, 1024 * 1024};
inline constexpr SizeClass kLongestMessages = {kLongMessages.bytes_max + 1, schedule::kCallBytesMax};

// Returns the size classes of a collective of blocks (HasBlocks), ascending, by the length of one block
// (schedule::PlanBytesOf). An alltoall has one class less: it may forward short blocks, and sends longer ones directly.
absl::Span<const SizeClass> BlockClasses(Collective collective);
// Returns the class in BlockClasses that contains `bytes` (schedule::PlanBytesOf), or the last one if none does.
SizeClass BlockClassOf(Collective collective, uint64_t bytes);

// Returns the size that represents the class, in bytes: its geometric mean, rounded down, where a class that begins at
// 0 counts from 1. There are three exceptions:
//  - A class of blocks from 8 KiB to kMessageBytesMax is represented by its largest size, since bandwidth dominates
//    once the blocks of all ranks are added up.
//  - A class beyond kMessageBytesMax is represented by 256 KiB or, if it has messages (not blocks) beyond 1 MiB, by 1
//    MiB, clamped to the class. By its largest size, most of it would get a tree that avoids repeated sends although
//    they are cheap.
//  - A class of messages that would be represented by more than 1 MiB + 1 B, which a rule or a daemon's plan may have,
//    is represented by that, even if it is below the class.
uint64_t TypicalBytes(Collective collective, const SizeClass& size_class);

// Returns the call for which plans of the class are made, priced and compared: TypicalBytes elements of uint8, with
// root 0.
CallArguments TypicalCall(Collective collective, const SizeClass& size_class);
CallArguments TypicalCall(const schedule::Plan& plan);
// Returns the call of so many bytes (schedule::PlanBytesOf) that the plan serves, or nearly so: of `bytes` clamped to
// its class and, since pricing takes time for each segment of a message, to the longest message that represents one.
CallArguments CallOfBytes(const schedule::Plan& plan, uint64_t bytes);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SIZE_CLASS_H_
