// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "planner/pricing/prediction.h"
#include "schedule/expand.h"

namespace copse::planner {

absl::StatusOr<CostCall> CostCall::Create(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                                          const CallArguments& arguments, const schedule::BlockProgram* blocks) {
  CostCall call;
  call.has_blocks_ = blocks != nullptr;
  call.nodes_.resize(shape.node_count());
  RETURN_IF_ERROR(blocks != nullptr ? call.CompileBlocks(plan, shape, *blocks)
                                    : call.CompileSegments(plan, shape, arguments));
  call.segment_count_ = static_cast<uint32_t>(call.has_blocks_ ? call.chunk_of_.size() : call.segments_.size());
  for (uint32_t v = 0; v < shape.node_count(); ++v) {
    Node& node = call.nodes_[v];
    node.here.assign(shape.RanksOf(NodeIndex(v)).size(), false);
    for (uint32_t s = 0; s < call.segment_count_; ++s) {
      const std::vector<uint32_t>& counts = node.ProgramOf(s).wait_counts;
      node.pending_begin.push_back(static_cast<uint32_t>(node.pending.size()));
      node.pending.insert(node.pending.end(), counts.begin(), counts.end());
    }
    node.op.assign(call.segment_count_, 0);
    node.wait.assign(call.segment_count_, 0);
  }
  return call;
}

absl::Status CostCall::CompileBlocks(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                                     const schedule::BlockProgram& blocks) {
  if (blocks.segment_count() > kBlockSegmentsMax) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(), ": too many segments to price (segments=",
                                                   blocks.segment_count(), ", limit=", kBlockSegmentsMax, ")"));
  }
  for (uint64_t c = 0; c < blocks.chunk_count(); ++c) {
    chunk_begin_.push_back(static_cast<uint32_t>(chunk_of_.size()));
    chunk_of_.resize(chunk_of_.size() + blocks.SegmentsOf(c), static_cast<uint32_t>(c));
  }
  chunk_begin_.push_back(static_cast<uint32_t>(chunk_of_.size()));
  for (uint32_t v = 0; v < shape.node_count(); ++v) {
    Node& node = nodes_[v];
    const auto local_ranks = static_cast<uint32_t>(shape.RanksOf(NodeIndex(v)).size());
    for (uint64_t c = 0; c < blocks.chunk_count(); ++c) {
      ASSIGN_OR_RETURN(const std::vector<schedule::NodeSequence> sequences, blocks.SequencesOf(c, NodeIndex(v)));
      for (const schedule::NodeSequence& sequence : sequences) {
        node.programs.push_back(CompileForCost(sequence, local_ranks));
      }
      node.segments_left.push_back(static_cast<uint32_t>(sequences.size()));
    }
  }
  return absl::OkStatus();
}

absl::Status CostCall::CompileSegments(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                                       const CallArguments& arguments) {
  segments_ = schedule::SegmentsOf(plan, arguments.collective == Collective::kBarrier ? 0 : arguments.bytes());
  const schedule::TreeIndex index(plan);
  for (uint32_t v = 0; v < shape.node_count(); ++v) {
    for (uint32_t rotation = 0; rotation < schedule::RotationsOf(plan); ++rotation) {
      const schedule::NodeView view = schedule::ViewOf(shape, plan, NodeIndex(v), arguments, rotation);
      ASSIGN_OR_RETURN(const schedule::NodeSequence sequence, schedule::Expand(plan, index, view, arguments));
      nodes_[v].programs.push_back(CompileForCost(sequence, view.local_ranks));
    }
  }
  return absl::OkStatus();
}

absl::Status CostCall::CheckFinished() const {
  for (uint32_t v = 0; v < nodes_.size(); ++v) {
    for (uint32_t s = 0; s < segment_count_; ++s) {
      if (nodes_[v].op[s] == nodes_[v].ProgramOf(s).ops.size()) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("node ", v, " waits for ever (segment=", s, ", wait=", nodes_[v].wait[s], ")"));
    }
  }
  return absl::OkStatus();
}

std::optional<CostCall::Segments> CostCall::StartChunk(uint32_t node) {
  Node& here = nodes_[node];
  const auto chunks = static_cast<uint32_t>(here.segments_left.size());
  if (here.chunks_started >= std::min(chunks, here.chunks_finished + kTeamWindow)) return std::nullopt;
  const uint32_t chunk = here.chunks_started++;
  return Segments{chunk_begin_[chunk], chunk_begin_[chunk + 1]};
}

bool CostCall::EndSegment(uint32_t node, uint32_t segment, std::vector<uint32_t>* told) {
  Node& here = nodes_[node];
  --here.segments_left[chunk_of_[segment]];
  const uint32_t before = here.chunks_finished;
  while (here.chunks_finished < here.chunks_started && here.segments_left[here.chunks_finished] == 0) {
    ++here.chunks_finished;
  }
  if (here.chunks_finished == before) return false;
  const std::vector<uint32_t> waiting = std::exchange(here.uncredited, {});
  told->insert(told->end(), waiting.begin(), waiting.end());
  return true;
}

bool CostCall::HasCredit(uint32_t node, uint32_t peer, uint32_t segment) {
  if (chunk_of_[segment] < nodes_[peer].chunks_finished + kTeamWindow) return true;
  nodes_[node].blocked.emplace_back(peer, segment);
  std::vector<uint32_t>& waiting = nodes_[peer].uncredited;
  if (std::find(waiting.begin(), waiting.end(), node) == waiting.end()) waiting.push_back(node);
  return false;
}

}  // namespace copse::planner
