// SPDX-License-Identifier: Apache-2.0
//
// What lies on pages of a result and is brought by no call.
#ifndef COPSE_CLIENT_TNBC_UNBROUGHT_H_
#define COPSE_CLIENT_TNBC_UNBROUGHT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/tnbc/division.h"

namespace copse::tnbc {

// Bytes of `pages`, which are in order and apart, that no call of the division brings: a rank's own block, and what the
// edges bring unless `edges_too`. In order. O(n log n) of calls' parts and pages.
std::vector<Part> UnbroughtOf(const Division& division, bool edges_too, std::span<const Part> pages);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_UNBROUGHT_H_
