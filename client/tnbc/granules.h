// SPDX-License-Identifier: Apache-2.0
//
// Computes which pages of a result are closed (inaccessible to the program) until its fragments have arrived.
#ifndef COPSE_CLIENT_TNBC_GRANULES_H_
#define COPSE_CLIENT_TNBC_GRANULES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/tnbc/fragmentation.h"

namespace copse::tnbc {

// A Granule is a range of pages that become accessible together.
struct Granule {
  uintptr_t begin = 0;          // an address
  uint64_t bytes = 0;           // a multiple of the page size
  std::vector<uint32_t> calls;  // indices of the calls that write to the pages
};

// A BufferPlace says where a receive buffer lies.
struct BufferPlace {
  uintptr_t address = 0;
  uint64_t page = 0;  // page size, bytes
  // These bytes before and after the buffer hold no other data: a page is closed even if it has them.
  uint64_t spare_before = 0, spare_behind = 0;
};

// Returns whether all edges lie on pages that hold only the result and spare bytes. Such pages can be closed, so the
// caller need not wait for the edges.
bool EdgesFillPages(const Fragmentation& fragmentation, const BufferPlace& place);

// Returns the granules of a receive buffer in ascending order: the whole pages of its runs to which a call writes. With
// `edges_too`, it also returns pages to which the edges write, as a call after the others (its index is calls.size()),
// and pages that spare bytes complete.
std::vector<Granule> GranulesOf(const Fragmentation& fragmentation, const BufferPlace& place, bool edges_too = false);

// Returns the bytes of `pages` to which no call writes: a rank's own block, and the edges unless `edges_too`. `pages`
// are extents of the receive buffer, ascending and disjoint; the result is ascending. Cost: O(n log n) in the number of
// the calls' extents, and linear in that of `pages`.
std::vector<Extent> UnbroughtOf(const Fragmentation& fragmentation, bool edges_too, std::span<const Extent> pages);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_GRANULES_H_
