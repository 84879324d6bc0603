// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/epoch_switch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace copse::daemon {

using schedule::ReportOf;

schedule::PrepareReply EpochSwitch::Prepare(EpochId epoch,
                                            const absl::StatusOr<std::shared_ptr<const VerifiedPlans>>& plans,
                                            CallSeq started, absl::Time now, const PortEdges* like) {
  const schedule::TeamLayout& layout = parts_.members->layout();
  schedule::PrepareReply reply{.team = layout.id, .epoch = epoch};
  reply.started = started;
  if (!prepared_ || prepared_epoch() != epoch) {
    if (!plans.ok()) {
      reply.why = ReportOf(plans.status(), "plans refused");
      return reply;
    }
    auto port = EpochPort::Open(parts_.engine, &parts_.members->shape(), layout, parts_.members->self(), epoch, *plans,
                                parts_.ready, parts_.instruments, like, parts_.owner);
    if (!port.ok()) {
      reply.why = ReportOf(port.status(), "no room for the team");
      return reply;
    }
    prepared_ = PreparedEpoch{
        .port = *std::move(port), .asked = now, .hold_from = CallSeq(started.value() + layout.window), .decided = {}};
  }
  reply.accepted = true;
  reply.incoming = prepared_->port->edges().IncomingLabels();
  return reply;
}

absl::Status EpochSwitch::Commit(EpochId epoch, CallSeq first_call, CallSeq started,
                                 const std::vector<schedule::EdgeLabel>& outgoing) {
  // The planner may repeat a Commit, and a neighbor's answer may have come before it.
  if (!epochs_.empty() && epochs_.back()->epoch() == epoch) return absl::OkStatus();
  if (!prepared_ || prepared_epoch() != epoch) {
    return absl::FailedPreconditionError(absl::StrCat(
        "team ", parts_.members->id().value(), ": commit of an epoch that is not prepared (epoch=", epoch.value(),
        ", prepared=", prepared_epoch().value(), ")"));
  }
  // A call that has started here would belong to both epochs, and calls before the first epoch would never start.
  const CallSeq least = epochs_.empty() ? CallSeq(0) : std::max(started, epochs_.back()->first_call());
  if (first_call < least || (epochs_.empty() && first_call != least)) {
    return absl::InvalidArgumentError(absl::StrCat("team ", parts_.members->id().value(), ": epoch ", epoch.value(),
                                                   " cannot begin with this call (call=", first_call.value(),
                                                   ", limit=", least.value(), ")"));
  }
  EpochPort& port = *prepared_->port;
  parts_.edges->Acquire(port.edges().nodes());  // connected first: a label lets the engine send
  for (const schedule::EdgeLabel& edge : outgoing) {
    const absl::Status set = port.SetRemoteLabel(edge.neighbor, edge.label);
    if (set.ok()) continue;
    parts_.edges->Release(port.edges().nodes());
    return set;
  }
  port.SetFirstCall(first_call);
  if (parts_.instruments != nullptr) parts_.instruments->EpochSwitched(parts_.members->id(), epoch, first_call);
  epochs_.push_back(std::move(prepared_->port));
  prepared_.reset();
  Retire();
  return absl::OkStatus();
}

bool EpochSwitch::Abort(EpochId epoch) {
  if (!prepared_ || prepared_epoch() != epoch) return false;
  prepared_.reset();
  return true;
}

Shared<std::vector<std::string>> EpochSwitch::EncodedPlans() const {
  return epochs_.empty() ? Shared<std::vector<std::string>>() : epochs_.back()->plans().verified()->Encoded();
}

std::shared_ptr<const VerifiedPlans> EpochSwitch::plans() const {
  if (prepared_) return prepared_->port->plans().verified();
  return epochs_.empty() ? nullptr : epochs_.back()->plans().verified();
}

std::optional<std::vector<uint32_t>> EpochSwitch::TakeNodesToAsk(absl::Time now, absl::Duration age) {
  if (!prepared_ || now - prepared_->asked < age) return std::nullopt;
  prepared_->asked = now;
  return prepared_->port->edges().nodes();
}

EpochAnswerMessage EpochSwitch::Answer(const EpochAskMessage& message, NodeIndex asker) const {
  EpochAnswerMessage answer{.team = parts_.members->id(), .epoch = message.epoch};
  for (const auto& port : epochs_) {
    if (port->epoch() != message.epoch) continue;
    answer.committed = true;
    answer.first_call = port->first_call();
    answer.label = port->edges().LabelFor(asker);
  }
  if (prepared_ && prepared_epoch() == message.epoch) answer.label = prepared_->port->edges().LabelFor(asker);
  return answer;
}

std::optional<CallSeq> EpochSwitch::OnAnswer(const EpochAnswerMessage& message, NodeIndex from) {
  if (!prepared_ || prepared_epoch() != message.epoch) return std::nullopt;
  // A label without an edge here is not valid. It is ignored, since the planner's Commit has the right ones.
  if (message.label != 0) prepared_->port->SetRemoteLabel(from, message.label).IgnoreError();
  if (message.committed) prepared_->decided = message.first_call;
  return prepared_->port->edges().HasAllRemoteLabels() ? prepared_->decided : std::nullopt;
}

EpochPort& EpochSwitch::PortFor(CallSeq sequence) const {
  DCHECK(ready());
  for (size_t i = epochs_.size(); i-- > 1;) {
    if (epochs_[i]->first_call() <= sequence) return *epochs_[i];
  }
  return *epochs_[0];
}

const CallRecord* EpochSwitch::Find(CallSeq sequence) const {
  for (size_t i = epochs_.size(); i-- > 0;) {
    if (const CallRecord* call = epochs_[i]->calls().Find(sequence)) return call;
  }
  return retired_ != nullptr ? retired_->Find(sequence) : nullptr;
}

void EpochSwitch::Retire() {
  while (epochs_.size() > 1 && epochs_[0]->FinishedBelow() >= epochs_[1]->first_call() &&
         epochs_[0]->long_calls() == 0) {
    // The epoch's calls are over here, so every neighbor has sent its packets for them, and needs no more credit.
    parts_.edges->Release(epochs_[0]->edges().nodes());
    retired_ = std::make_unique<const CallRecords>(epochs_[0]->TakeCalls());
    epochs_.erase(epochs_.begin());
  }
}

void EpochSwitch::Clear() {
  for (const auto& port : epochs_) parts_.edges->Release(port->edges().nodes());
  epochs_.clear();
  prepared_.reset();
  retired_.reset();
}

void EpochSwitch::CheckInvariants() const {
  for (size_t i = 0; i < epochs_.size(); ++i) {
    epochs_[i]->CheckInvariants();
    if (i == 0) continue;
    CHECK_LE(epochs_[i - 1]->first_call().value(), epochs_[i]->first_call().value());
  }
  if (retired_ != nullptr) {
    retired_->CheckInvariants();
    CHECK(!retired_->HasCallInFlight());
  }
}

}  // namespace copse::daemon
