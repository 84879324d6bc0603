// SPDX-License-Identifier: Apache-2.0
//
// One call of a block collective as one sees it who knows the counts of all ranks: what prices and simulations run. It
// is cut and expanded as daemons do it, who find some of it out on the way.
#ifndef COPSE_SCHEDULE_BLOCK_PROGRAM_H_
#define COPSE_SCHEDULE_BLOCK_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "schedule/blocks.h"
#include "schedule/expand.h"
#include "schedule/plan.h"

namespace copse::schedule {

// Of an irregular call, in bytes. A regular one needs none.
struct BlockCounts {
  std::vector<uint64_t> by_rank;  // gatherv, scatterv, allgatherv, reduce_scatterv: of each rank's block
  std::vector<uint64_t> by_pair;  // alltoallv: of what rank s gives to rank r, at s * ranks + r
};

// What one chunk takes of a node's staging memory: cells and scratch until it is over, frames until they have left.
struct StagingBytes {
  uint64_t cells = 0;    // what comes from neighbours
  uint64_t landing = 0;  // of that: not held if it comes once its copy is armed
  uint64_t scratch = 0;  // what is put together, or combined
  uint64_t frames = 0;   // what is sent, at most
  // Of cells and scratch: in later chunks of a call the engine makes each as large as one was before.
  uint32_t buffers = 0;
  uint64_t largest = 0;
};

// A BlockProgram is immutable but for what it keeps of the last question, so thread-compatible. Blocks lie by rank, one
// after another, in every buffer that has several.
class BlockProgram {
 public:
  // `*plan` (verified) and `*shape` outlive it. Errors: INVALID_ARGUMENT if the collective has no blocks, or plan or
  // counts are not for it.
  static absl::StatusOr<std::unique_ptr<BlockProgram>> Create(const Plan* plan, const ShapeIndex* shape,
                                                              const CallArguments& arguments, BlockCounts counts = {});

  const CallArguments& arguments() const { return arguments_; }
  const ShapeIndex& shape() const { return *shape_; }
  const Plan& plan() const { return *plan_; }

  // --- Ranks' buffers, in bytes ---
  uint64_t SendBytes(uint32_t rank) const;
  uint64_t ReceiveBytes(uint32_t rank) const;
  // Of the block that `from` has for `to`; of a reduction: of what `to` gets.
  uint64_t BlockBytes(uint32_t from, uint32_t to) const;

  // --- Chunks ---
  // Those in which the root tells all counts come first, if it has to.
  uint64_t chunk_count() const { return notes_chunks_ + data_chunks_; }
  uint64_t notes_chunk_count() const { return notes_chunks_; }
  uint32_t SegmentsOf(uint64_t chunk) const;
  // Of all chunks together.
  uint64_t segment_count() const;
  // The node's sequences, one a segment. Errors: as ExpandBlocks.
  absl::StatusOr<std::vector<NodeSequence>> SequencesOf(uint64_t chunk, NodeIndex node) const;

  // --- The daemons' own memory of the call ---
  uint64_t NotesBytes() const;
  // What the node has to tell, as its notes are before the call.
  std::vector<uint8_t> NotesOf(NodeIndex node) const;
  // What they are in the end, wherever it matters: of gatherv and scatterv. Empty: it does not.
  std::vector<uint8_t> NotesInTheEnd() const;

 private:
  BlockProgram(const Plan* plan, const ShapeIndex* shape, const CallArguments& arguments, BlockCounts counts);
  bool RootTells() const;
  BlockCall CallAt(NodeIndex node, std::vector<RankBuffers>* buffers) const;

  const Plan* const plan_;
  const ShapeIndex* const shape_;
  const CallArguments arguments_;
  const Collective regular_;
  const BlockCounts counts_;
  const TreeIndex index_;
  const PackedOrder order_;
  std::optional<BlockSizes> sizes_;
  std::optional<Cutting> cutting_;
  BlockList by_rank_;               // where they lie
  std::vector<BlockList> send_;     // alltoallv, by rank
  std::vector<BlockList> receive_;  // alltoallv, by rank
  uint64_t pair_bytes_max_ = 0;
  uint64_t notes_chunks_ = 0;
  uint64_t data_chunks_ = 0;
};

// Of the sequences of one chunk at their node. Each cell, the scratch and each frame is a power of two bytes.
StagingBytes StagingOf(const Plan& plan, const std::vector<NodeSequence>& segments);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BLOCK_PROGRAM_H_
