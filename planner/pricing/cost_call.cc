// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_call.h"

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "planner/pricing/prediction.h"
#include "schedule/expand.h"

namespace copse::planner {

absl::StatusOr<CostCall> CostCall::Create(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                                          const CallArguments& arguments, const schedule::BlockProgram* blocks) {
  CostCall call;
  call.nodes_.resize(shape.node_count());
  RETURN_IF_ERROR(blocks != nullptr ? call.CompileBlocks(plan, shape, *blocks)
                                    : call.CompileSegments(plan, shape, arguments));
  call.segment_count_ =
      call.windows_.has_value() ? call.windows_->segment_count() : static_cast<uint32_t>(call.segments_.size());
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
  std::vector<uint32_t> segments;
  for (uint64_t c = 0; c < blocks.chunk_count(); ++c) segments.push_back(blocks.SegmentsOf(c));
  windows_.emplace(segments, shape.node_count());
  for (uint32_t v = 0; v < shape.node_count(); ++v) {
    const auto local_ranks = static_cast<uint32_t>(shape.RanksOf(NodeIndex(v)).size());
    for (uint64_t c = 0; c < blocks.chunk_count(); ++c) {
      ASSIGN_OR_RETURN(const std::vector<schedule::NodeSequence> sequences, blocks.SequencesOf(c, NodeIndex(v)));
      for (const schedule::NodeSequence& sequence : sequences) {
        nodes_[v].programs.push_back(CompileForCost(sequence, local_ranks));
      }
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

}  // namespace copse::planner
