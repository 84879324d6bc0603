// SPDX-License-Identifier: Apache-2.0
//
// Which pages of a result are closed until its fragments have come.
#ifndef COPSE_CLIENT_TNBC_GRANULES_H_
#define COPSE_CLIENT_TNBC_GRANULES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "client/tnbc/fragmentation.h"

namespace copse::tnbc {

// Pages that become accessible together.
struct Granule {
  uintptr_t begin = 0;          // an address
  uint64_t bytes = 0;           // whole pages
  std::vector<uint32_t> calls;  // that bring data there; in order
};

// The place of a receive buffer.
struct BufferPlace {
  uintptr_t address = 0;
  uint64_t page = 0;  // bytes of one
  // Bytes before and behind the buffer that belong to no other data: a page whose other bytes are these may be closed.
  uint64_t spare_before = 0, spare_behind = 0;
};

// Returns whether all that the edges bring lies on pages of the result alone: then the caller need not wait for them,
// since these pages can be protected, too.
bool EdgesFillPages(const Fragmentation& fragmentation, const BufferPlace& place);

// Returns the granules of a receive buffer: all whole pages of its runs to which a call brings data. `edges_too`: also
// pages to which the edges do, as a call behind the others; these pages may have spare bytes.
std::vector<Granule> GranulesOf(const Fragmentation& fragmentation, const BufferPlace& place, bool edges_too = false);

// Bytes of `pages`, which are in order and apart, that no call of the fragmentation brings: a rank's own block, and
// what the edges bring unless `edges_too`. In order. O(n log n) of calls' extents and pages.
std::vector<Extent> UnbroughtOf(const Fragmentation& fragmentation, bool edges_too, std::span<const Extent> pages);

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_GRANULES_H_
