// SPDX-License-Identifier: Apache-2.0
//
// Tracks which chunks of a call of blocks each node runs, in the cost model.
#ifndef COPSE_PLANNER_PRICING_CHUNK_WINDOWS_H_
#define COPSE_PLANNER_PRICING_CHUNK_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace copse::planner {

// ChunkWindows has a window for each node: a node runs kTeamWindow chunks at once, and sends nothing to another node
// for a chunk beyond that node's window. Thread-compatible.
class ChunkWindows {
 public:
  struct Segments {
    uint32_t begin, end;
  };
  // A Blocked is a segment that waits for the peer's credit.
  struct Blocked {
    uint32_t peer, segment;
  };

  // `segments` has their number by chunk.
  ChunkWindows(const std::vector<uint32_t>& segments, uint32_t node_count);

  uint32_t segment_count() const { return static_cast<uint32_t>(chunk_of_.size()); }
  // Returns whether the node has started the segment's chunk.
  bool HasStarted(uint32_t node, uint32_t segment) const { return chunk_of_[segment] < windows_[node].started; }
  // Starts the node's next chunk and returns its segments, or nullopt if the window is full or no chunk is left.
  std::optional<Segments> StartChunk(uint32_t node);
  // Ends the segment's sequence at the node. Returns whether the node's window has moved; then the nodes that wait for
  // its credit are appended to `*told`.
  bool EndSegment(uint32_t node, uint32_t segment, std::vector<uint32_t>* told);
  // Returns whether the peer's window includes the segment's chunk. If not, the node waits for the peer's credit, and
  // the segment is blocked.
  bool HasCredit(uint32_t node, uint32_t peer, uint32_t segment);
  // Returns the node's blocked segments, in the order of Block, and forgets them.
  std::vector<Blocked> TakeBlocked(uint32_t node) { return std::exchange(windows_[node].blocked, {}); }
  void Block(uint32_t node, const Blocked& blocked) { windows_[node].blocked.push_back(blocked); }

 private:
  struct Window {
    uint32_t started = 0;
    uint32_t finished = 0;                // all chunks below this number are finished
    std::vector<uint32_t> segments_left;  // by chunk
    std::vector<Blocked> blocked;
    std::vector<uint32_t> uncredited;  // nodes that wait for this node's credit
  };

  std::vector<uint32_t> chunk_of_;     // by segment
  std::vector<uint32_t> chunk_begin_;  // by chunk: its first segment; at the end, the number of segments
  std::vector<Window> windows_;        // by node
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_CHUNK_WINDOWS_H_
