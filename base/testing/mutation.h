// SPDX-License-Identifier: Apache-2.0
//
// Texts that are nearly right, for tests of what reads them.
#ifndef COPSE_BASE_TESTING_MUTATION_H_
#define COPSE_BASE_TESTING_MUTATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"

namespace copse {

// `text` after so many changes: bytes replaced, bits flipped, parts removed or repeated, the end cut off, and parts of
// `pieces` (not empty) put in: words of the format, or other texts of it.
std::string Mutated(std::string text, const std::vector<std::string>& pieces, uint64_t changes, Prng& prng);

}  // namespace copse

#endif  // COPSE_BASE_TESTING_MUTATION_H_
