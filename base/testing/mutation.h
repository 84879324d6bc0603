// SPDX-License-Identifier: Apache-2.0
//
// Nearly valid texts, for tests of parsers.
#ifndef COPSE_BASE_TESTING_MUTATION_H_
#define COPSE_BASE_TESTING_MUTATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"

namespace copse {

// Returns `text` after `changes` changes: bytes replaced, bits flipped, ranges removed or repeated, the end cut off,
// and parts of `pieces` (not empty) inserted: words of the format, or other texts in it.
std::string Mutated(std::string text, const std::vector<std::string>& pieces, uint64_t changes, Prng& prng);

}  // namespace copse

#endif  // COPSE_BASE_TESTING_MUTATION_H_
