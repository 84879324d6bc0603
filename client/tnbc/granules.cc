// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/granules.h"

#include <algorithm>

namespace copse::tnbc {
namespace {

// The pages of a run, by number, [first, last): whole ones, and those whose other bytes are spare.
struct Pages {
  uintptr_t first, last;
};

Pages PagesOf(const Division& division, const Part& run, const BufferPlace& place, bool spare_too) {
  const uintptr_t begin = place.address + run.offset, end = begin + run.bytes;
  Pages pages = {(begin + place.page - 1) / place.page, end / place.page};
  const uint64_t before = begin % place.page, behind = (place.page - end % place.page) % place.page;
  if (spare_too && run.offset == 0 && before <= place.spare_before) pages.first = begin / place.page;
  if (spare_too && run.offset + run.bytes == division.receive_bytes && behind <= place.spare_behind) {
    pages.last = (end + behind) / place.page;
  }
  return pages;
}

}  // namespace

bool EdgesFillPages(const Division& division, const BufferPlace& place) {
  return std::all_of(division.edges.unpack.begin(), division.edges.unpack.end(), [&](const Move& move) {
    return std::any_of(division.runs.begin(), division.runs.end(), [&](const Part& run) {
      const Pages pages = PagesOf(division, run, place, /*spare_too=*/true);
      const uintptr_t begin = place.address + move.to;
      return begin >= pages.first * place.page && begin + move.bytes <= pages.last * place.page;
    });
  });
}

std::vector<Granule> GranulesOf(const Division& division, const BufferPlace& place, bool edges_too) {
  const uint64_t page = place.page;
  struct Brought {
    Part part;
    uint32_t call;
  };
  std::vector<Brought> all;
  for (uint32_t call = 0; call < division.calls.size(); ++call) {
    for (const Part& part : division.calls[call].parts) all.push_back({part, call});
  }
  const auto behind = static_cast<uint32_t>(division.calls.size());
  for (const Move& move : division.edges.unpack) {
    if (edges_too) all.push_back({{move.to, move.bytes}, behind});
  }
  std::sort(all.begin(), all.end(), [](const Brought& a, const Brought& b) { return a.part.offset < b.part.offset; });
  std::vector<Granule> granules;
  for (const Part& run : division.runs) {
    const Pages pages = PagesOf(division, run, place, edges_too);
    for (const auto& [part, call] : all) {
      if (part.bytes == 0) continue;
      uintptr_t begin = std::max(pages.first, (place.address + part.offset) / page);
      const uintptr_t end = std::min(pages.last, (place.address + part.offset + part.bytes + page - 1) / page);
      if (begin >= end) continue;
      const uintptr_t reached = granules.empty() ? 0 : granules.back().begin + granules.back().bytes;
      // The page that it shares with the part before it is a granule of its own.
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
