// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/granules.h"

#include <algorithm>

namespace copse::tnbc {
namespace {

// Pages is a range of page numbers, [first, last).
struct Pages {
  uintptr_t first, last;
};

// Returns the pages that lie in `run` entirely; with `spare_too`, also those at the buffer's ends whose other bytes are
// spare.
Pages PagesOf(const Fragmentation& fragmentation, const Extent& run, const BufferPlace& place, bool spare_too) {
  const uintptr_t begin = place.address + run.offset, end = begin + run.bytes;
  Pages pages = {(begin + place.page - 1) / place.page, end / place.page};
  const uint64_t before = begin % place.page, behind = (place.page - end % place.page) % place.page;
  if (spare_too && run.offset == 0 && before <= place.spare_before) pages.first = begin / place.page;
  if (spare_too && run.offset + run.bytes == fragmentation.receive_bytes && behind <= place.spare_behind) {
    pages.last = (end + behind) / place.page;
  }
  return pages;
}

}  // namespace

bool EdgesFillPages(const Fragmentation& fragmentation, const BufferPlace& place) {
  return std::all_of(fragmentation.edges.unpack.begin(), fragmentation.edges.unpack.end(), [&](const Move& move) {
    return std::any_of(fragmentation.runs.begin(), fragmentation.runs.end(), [&](const Extent& run) {
      const Pages pages = PagesOf(fragmentation, run, place, /*spare_too=*/true);
      const uintptr_t begin = place.address + move.to;
      return begin >= pages.first * place.page && begin + move.bytes <= pages.last * place.page;
    });
  });
}

std::vector<Granule> GranulesOf(const Fragmentation& fragmentation, const BufferPlace& place, bool edges_too) {
  const uint64_t page = place.page;
  struct Brought {
    Extent fragment;
    uint32_t call;
  };
  std::vector<Brought> all;
  for (uint32_t call = 0; call < fragmentation.calls.size(); ++call) {
    for (const Extent& fragment : fragmentation.calls[call].extents) all.push_back({fragment, call});
  }
  const auto behind = static_cast<uint32_t>(fragmentation.calls.size());
  for (const Move& move : fragmentation.edges.unpack) {
    if (edges_too) all.push_back({{move.to, move.bytes}, behind});
  }
  std::sort(all.begin(), all.end(),
            [](const Brought& a, const Brought& b) { return a.fragment.offset < b.fragment.offset; });
  std::vector<Granule> granules;
  for (const Extent& run : fragmentation.runs) {
    const Pages pages = PagesOf(fragmentation, run, place, edges_too);
    for (const auto& [fragment, call] : all) {
      if (fragment.bytes == 0) continue;
      uintptr_t begin = std::max(pages.first, (place.address + fragment.offset) / page);
      const uintptr_t end = std::min(pages.last, (place.address + fragment.offset + fragment.bytes + page - 1) / page);
      if (begin >= end) continue;
      const uintptr_t reached = granules.empty() ? 0 : granules.back().begin + granules.back().bytes;
      // A page that the fragment shares with the one before it is a granule of its own.
      if (reached > begin * page) {
        Granule& before = granules.back();
        if (before.calls == std::vector<uint32_t>{call}) {
          before.bytes = end * page - before.begin;
          continue;
        }
        if (before.bytes > page) {
          before.bytes -= page;
          granules.push_back({begin * page, page, before.calls});
        }
        std::vector<uint32_t>& calls = granules.back().calls;
        if (std::find(calls.begin(), calls.end(), call) == calls.end()) calls.push_back(call);
        ++begin;
      } else if (reached == begin * page && granules.back().calls == std::vector<uint32_t>{call}) {
        granules.back().bytes = end * page - granules.back().begin;
        continue;
      }
      if (begin < end) granules.push_back({begin * page, (end - begin) * page, {call}});
    }
  }
  return granules;
}

std::vector<Extent> UnbroughtOf(const Fragmentation& fragmentation, bool edges_too, std::span<const Extent> pages) {
  std::vector<Extent> brought;
  for (const SubCall& call : fragmentation.calls)
    brought.insert(brought.end(), call.extents.begin(), call.extents.end());
  for (const Move& move : fragmentation.edges.unpack) {
    if (edges_too) brought.push_back({move.to, move.bytes});
  }
  std::sort(brought.begin(), brought.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  std::vector<Extent> unbrought;
  size_t next = 0;
  uint64_t at = 0;  // bytes of `pages` before this offset are done
  for (const Extent& page : pages) {
    const uint64_t end = page.offset + page.bytes;
    at = std::max(at, page.offset);
    for (; next < brought.size() && brought[next].offset < end; ++next) {
      const Extent& fragment = brought[next];
      if (fragment.offset > at) unbrought.push_back({at, fragment.offset - at});
      at = std::max(at, fragment.offset + fragment.bytes);
    }
    if (at < end) unbrought.push_back({at, end - at});
    at = std::max(at, end);
  }
  return unbrought;
}

}  // namespace copse::tnbc
