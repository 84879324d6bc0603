// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/whole_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "schedule/lower.h"
#include "schedule/plan.h"
#include "schedule/reference.h"

namespace copse::sim {
namespace {

// The value of an event is the local rank whose result is complete, or this.
constexpr uint64_t kNodeDone = uint64_t{1} << 32;

}  // namespace

WholeCall::WholeCall(const SimCall* call, uint32_t node, NodePort* port, NodeClock* clock)
    : call_(call), node_(node), port_(port), clock_(clock), ranks_(call->shape->RanksOf(NodeIndex(node)).size()) {}

uint64_t WholeCall::message_bytes() const {
  return call_->arguments.collective == Collective::kBarrier ? 0 : call_->arguments.bytes();
}

absl::Status WholeCall::Prepare() {
  const schedule::Plan& plan = *call_->plan;
  for (uint32_t rotation = 0; rotation < schedule::RotationsOf(plan); ++rotation) {
    const schedule::NodeView view = schedule::ViewOf(*call_->shape, plan, NodeIndex(node_), call_->arguments, rotation);
    ASSIGN_OR_RETURN(sequences_.emplace_back(), schedule::Expand(plan, *call_->index, view, call_->arguments));
  }
  return absl::OkStatus();
}

schedule::PortMap WholeCall::Map() const {
  schedule::PortMap map = port_->MapOf(0);
  map.node_event = kNodeDone;
  return map;
}

absl::Status WholeCall::Start() {
  const schedule::Plan& plan = *call_->plan;
  clock_->PostPrimitives(sequences_[0].primitives.size() * schedule::SegmentCount(plan, message_bytes()), 0);
  const schedule::PortMap map = Map();
  schedule::LowerNode(plan, schedule::PointersTo(sequences_), call_->arguments, map, &Lowered());
  RETURN_IF_ERROR(port_->Expect(0, Lowered(), map.hash));
  return port_->Post(Lowered());
}

void WholeCall::MakeMemory(uint32_t local) {
  const CallArguments& arguments = call_->arguments;
  const Rank rank = call_->shape->RanksOf(NodeIndex(node_))[local];
  const bool is_root = HasRoot(arguments.collective) && rank.value() == arguments.root;
  const bool sends =
      arguments.collective != Collective::kBarrier && (arguments.collective != Collective::kBcast || is_root);
  const bool receives = arguments.collective == Collective::kAllreduce ||
                        (arguments.collective == Collective::kBcast && !is_root) ||
                        (arguments.collective == Collective::kReduce && is_root);
  if (sends) ranks_[local].SetSend(schedule::Contribution(arguments, rank.value(), call_->seed));
  if (receives) ranks_[local].Receive(message_bytes());
}

absl::Status WholeCall::AddRank(uint32_t local) {
  clock_->TakeRank();
  if (++arrived_ == 1) RETURN_IF_ERROR(Start());
  MakeMemory(local);
  schedule::PortMap map = Map();
  map.rank_event = local;
  RETURN_IF_ERROR(port_->BindRank(map, local, &ranks_[local]));
  schedule::LowerRank(*call_->plan, schedule::PointersTo(sequences_), call_->arguments, map, local, &Lowered());
  RETURN_IF_ERROR(port_->Post(Lowered()));
  for (const emu::CounterIndex counter : Lowered().arrivals) RETURN_IF_ERROR(port_->Count(counter));
  if (arrived_ == ranks_.size()) sequences_ = {};
  return absl::OkStatus();
}

void WholeCall::TakeEvent(uint64_t value, std::vector<uint32_t>* done) {
  if (value == kNodeDone) {
    node_done_ = true;
    return;
  }
  ++told_;
  done->push_back(static_cast<uint32_t>(value));
}

absl::Status WholeCall::CheckData(absl::Span<const uint8_t> expected) const {
  for (uint32_t local = 0; local < ranks_.size(); ++local) {
    if (!ranks_[local].receives()) continue;
    const uint32_t rank = call_->shape->RanksOf(NodeIndex(node_))[local].value();
    ASSIGN_OR_RETURN(const absl::Span<const uint8_t> got, ranks_[local].Result(rank));
    CHECK_EQ(got.size(), expected.size());
    const auto differs = std::mismatch(expected.begin(), expected.end(), got.begin());
    if (differs.first != expected.end()) {
      return absl::InternalError(absl::StrCat("rank ", rank, ": wrong data (byte=", differs.first - expected.begin(),
                                              ", value=", *differs.second, ", expected=", *differs.first, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::sim
