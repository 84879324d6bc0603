// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/unbrought.h"

#include <algorithm>

namespace copse::tnbc {

std::vector<Part> UnbroughtOf(const Division& division, bool edges_too, std::span<const Part> pages) {
  std::vector<Part> brought;
  for (const SubCall& call : division.calls) brought.insert(brought.end(), call.parts.begin(), call.parts.end());
  for (const Move& move : division.edges.unpack) {
    if (edges_too) brought.push_back({move.to, move.bytes});
  }
  std::sort(brought.begin(), brought.end(), [](const Part& a, const Part& b) { return a.offset < b.offset; });
  std::vector<Part> unbrought;
  size_t next = 0;
  uint64_t at = 0;  // brought up to there, as far as it has been looked at
  for (const Part& page : pages) {
    const uint64_t end = page.offset + page.bytes;
    at = std::max(at, page.offset);
    for (; next < brought.size() && brought[next].offset < end; ++next) {
      const Part& part = brought[next];
      if (part.offset > at) unbrought.push_back({at, part.offset - at});
      at = std::max(at, part.offset + part.bytes);
    }
    if (at < end) unbrought.push_back({at, end - at});
    at = std::max(at, end);
  }
  return unbrought;
}

}  // namespace copse::tnbc
