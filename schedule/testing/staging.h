// SPDX-License-Identifier: Apache-2.0
//
// The staging memory that a chunk of a block collective takes at a node, from its sequences: what tests hold the engine
// to.
#ifndef COPSE_SCHEDULE_TESTING_STAGING_H_
#define COPSE_SCHEDULE_TESTING_STAGING_H_

#include <cstdint>
#include <vector>

#include "schedule/expand.h"
#include "schedule/plan.h"

namespace copse::schedule {

// The staging memory of a node that one chunk takes: eager buffers and scratch until the chunk is over, frames until
// they have been sent.
struct StagingBytes {
  uint64_t cells = 0;    // received from neighbors
  uint64_t landing = 0;  // the part of `cells` not held if it arrives once its copy is armed
  uint64_t scratch = 0;  // assembled or combined here
  uint64_t frames = 0;   // sent, at most
  // Number of eager and scratch buffers: in later chunks of a call the engine makes each as large as one was before.
  uint32_t buffers = 0;
  uint64_t largest = 0;
};

// Returns the staging memory that the sequences of one chunk take at their node. Each eager buffer, the scratch and
// each frame is a power of two bytes.
StagingBytes StagingOf(const Plan& plan, const std::vector<NodeSequence>& segments);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_TESTING_STAGING_H_
