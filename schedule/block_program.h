// SPDX-License-Identifier: Apache-2.0
//
// Cuts and expands one call of a block collective with the counts of all ranks known, for cost model and simulations.
// The daemons cut and expand it equally, but learn some of the counts during the call.
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

// BlockCounts holds the block lengths of an irregular call, in bytes. A regular call has none.
struct BlockCounts {
  std::vector<uint64_t> by_rank;  // gatherv, scatterv, allgatherv, reduce_scatterv: each rank's block
  std::vector<uint64_t> by_pair;  // alltoallv: the block from rank s to rank r is at s * ranks + r
};

// A BlockProgram is one call of a block collective on all nodes. It is immutable. In every buffer that has several
// blocks, they lie in rank order, back to back.
class BlockProgram {
 public:
  // `*plan` (verified) and `*shape` must outlive the program. Errors: INVALID_ARGUMENT if the collective has no blocks,
  // the plan is for another one or for too short blocks, or a list of `counts` does not have the size that the
  // collective needs.
  static absl::StatusOr<std::unique_ptr<BlockProgram>> Create(const Plan* plan, const ShapeIndex* shape,
                                                              const CallArguments& arguments, BlockCounts counts = {});

  const CallArguments& arguments() const { return arguments_; }
  const ShapeIndex& shape() const { return *shape_; }
  const Plan& plan() const { return *plan_; }

  // --- Ranks' buffers, in bytes ---
  uint64_t SendBytes(uint32_t rank) const;
  uint64_t ReceiveBytes(uint32_t rank) const;
  // Returns the bytes of the block from rank `from` to rank `to`; for a reduction, of the block that `to` receives.
  uint64_t BlockBytes(uint32_t from, uint32_t to) const;

  // --- Chunks ---
  // The chunks in which the root sends all counts come first, if there are any.
  uint64_t chunk_count() const { return notes_chunks_ + data_chunks_; }
  uint64_t notes_chunk_count() const { return notes_chunks_; }
  uint32_t SegmentsOf(uint64_t chunk) const;
  // Returns the number of segments in all chunks.
  uint64_t segment_count() const;
  // Returns the node's sequences, one per segment of the chunk. Errors: those of ExpandBlocks.
  absl::StatusOr<std::vector<NodeSequence>> SequencesOf(uint64_t chunk, NodeIndex node) const;

  // --- The metadata of each node's daemon (Place::kNotes) ---
  uint64_t NotesBytes() const;
  // Returns the node's metadata before the call, which has the counts or notes that it sends to other nodes.
  std::vector<uint8_t> NotesOf(NodeIndex node) const;
  // Returns each node's metadata after the call if the root sends all counts (gatherv, scatterv); otherwise nothing.
  std::vector<uint8_t> NotesInTheEnd() const;

 private:
  BlockProgram(const Plan* plan, const ShapeIndex* shape, const CallArguments& arguments, BlockCounts counts);
  bool RootTells() const;
  // Returns the bytes of the rank's buffer of this kind. `lists`: the blocks of that side by rank, in alltoallv.
  uint64_t BufferBytes(BufferKind kind, uint32_t rank, const std::vector<BlockList>& lists) const;
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
  BlockList by_rank_;               // block layout by rank
  std::vector<BlockList> send_;     // alltoallv, by rank
  std::vector<BlockList> receive_;  // alltoallv, by rank
  uint64_t pair_bytes_max_ = 0;
  uint64_t notes_chunks_ = 0;
  uint64_t data_chunks_ = 0;
};

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BLOCK_PROGRAM_H_
