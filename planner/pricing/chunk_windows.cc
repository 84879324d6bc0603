// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/chunk_windows.h"

#include <algorithm>

#include "planner/pricing/prediction.h"

namespace copse::planner {

ChunkWindows::ChunkWindows(const std::vector<uint32_t>& segments, uint32_t node_count)
    : windows_(node_count, Window{.segments_left = segments}) {
  for (uint32_t c = 0; c < segments.size(); ++c) {
    chunk_begin_.push_back(segment_count());
    chunk_of_.insert(chunk_of_.end(), segments[c], c);
  }
  chunk_begin_.push_back(segment_count());
}

std::optional<ChunkWindows::Segments> ChunkWindows::StartChunk(uint32_t node) {
  Window& here = windows_[node];
  const auto chunks = static_cast<uint32_t>(here.segments_left.size());
  if (here.started >= std::min(chunks, here.finished + kTeamWindow)) return std::nullopt;
  const uint32_t chunk = here.started++;
  return Segments{chunk_begin_[chunk], chunk_begin_[chunk + 1]};
}

bool ChunkWindows::EndSegment(uint32_t node, uint32_t segment, std::vector<uint32_t>* told) {
  Window& here = windows_[node];
  --here.segments_left[chunk_of_[segment]];
  const uint32_t before = here.finished;
  while (here.finished < here.started && here.segments_left[here.finished] == 0) ++here.finished;
  if (here.finished == before) return false;
  const std::vector<uint32_t> waiting = std::exchange(here.uncredited, {});
  told->insert(told->end(), waiting.begin(), waiting.end());
  return true;
}

bool ChunkWindows::HasCredit(uint32_t node, uint32_t peer, uint32_t segment) {
  if (chunk_of_[segment] < windows_[peer].finished + kTeamWindow) return true;
  Block(node, {peer, segment});
  std::vector<uint32_t>& waiting = windows_[peer].uncredited;
  if (std::find(waiting.begin(), waiting.end(), node) == waiting.end()) waiting.push_back(node);
  return false;
}

}  // namespace copse::planner
