// SPDX-License-Identifier: Apache-2.0
//
// The messages that one plan serves, and the one among them that it is made for.
#ifndef COPSE_PLANNER_SIZE_CLASS_H_
#define COPSE_PLANNER_SIZE_CLASS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "schedule/plan.h"

namespace copse::planner {

// Bytes, inclusive.
struct SizeClass {
  uint64_t bytes_min = 0;
  uint64_t bytes_max = 0;
  friend bool operator==(const SizeClass&, const SizeClass&) = default;
};

// Of messages whose calls take several chunks. How soon the first segment comes through still matters to the first; to
// the second only what a byte costs, and what a segment costs the daemons.
inline constexpr SizeClass kLongMessages = {schedule::kMessageBytesMax + 1, 1024 * 1024};
inline constexpr SizeClass kLongestMessages = {kLongMessages.bytes_max + 1, schedule::kCallBytesMax};

// The classes of collectives of blocks (HasBlocks), by one block (schedule::PlanBytesOf), ascending. An
// alltoall passes on what is short, and sends the rest from everybody to everybody.
absl::Span<const SizeClass> BlockClasses(Collective collective);
// The one that such a call belongs to. `bytes`: PlanBytesOf.
SizeClass BlockClassOf(Collective collective, uint64_t bytes);

// What stands for the class, in bytes: its geometric middle, rounded down; a class that begins at 0 counts from 1.
//  - Of blocks of up to kMessageBytesMax the largest: with those of all ranks it is what bytes decide.
//  - Of messages beyond kMessageBytesMax 256 KiB, of kLongestMessages 1 MiB, of blocks 256 KiB: the largest would have
//    most of the class served by a tree that avoids sending twice what is cheap to send.
uint64_t TypicalBytes(Collective collective, const SizeClass& size_class);

// The call that plans of the class are made for, priced for, compared by and explained by: of TypicalBytes, from rank
// 0.
CallArguments TypicalCall(Collective collective, const SizeClass& size_class);
CallArguments TypicalCall(const schedule::Plan& plan);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SIZE_CLASS_H_
