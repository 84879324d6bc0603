// SPDX-License-Identifier: Apache-2.0
//
// Random calls of all collectives through libcopse, checked against plain loops: one rank's part of them. For the fake
// daemon and for real clusters.
#ifndef COPSE_CLIENT_TESTING_EVERY_COLLECTIVE_H_
#define COPSE_CLIENT_TESTING_EVERY_COLLECTIVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/copse.h"

namespace copse::client {

struct EveryCollectiveOptions {
  uint64_t seed = 1;                            // the same on all ranks
  int rounds = 100;                             // calls
  uint64_t bytes_max = 0;                       // of a buffer, all blocks together
  std::vector<copse_collective_t> collectives;  // to choose from; empty: all
};

// Root, type, operation, counts, displacements, in place or not, blocking or posted twice, kinds of memory: all by
// chance, from the seed. Returns what was wrong, with the seed and the case; empty if all was right. All ranks of the
// team call it with the same options; after a failure the team is of no more use.
std::string RunEveryCollective(copse_context_t* context, copse_team_t* team, const EveryCollectiveOptions& options);

}  // namespace copse::client

#endif  // COPSE_CLIENT_TESTING_EVERY_COLLECTIVE_H_
