// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/call_order.h"

#include <cstdint>
#include <utility>

#include "schedule/folds.h"

namespace copse::daemon {

using schedule::FailureReport;

const CallHistory* CallOrder::Find(TeamId team) const {
  const auto it = histories_.find(team);
  return it == histories_.end() ? nullptr : &it->second;
}

std::optional<FailureReport> CallOrder::Note(const Team& team, Rank rank, const CallArguments& arguments) {
  CallHistory& history = histories_[team.id()];
  const std::optional<RankArguments> other = history.Note(rank, arguments);
  if (!other || schedule::FamilyOfCall(other->arguments) == schedule::FamilyOfCall(arguments)) return std::nullopt;
  return MismatchReport(history.noted(), *other, *node_, {rank, arguments}, *node_);
}

void CallOrder::AskNeighbors(const Team& team) const {
  const CallHistory* const history = Find(team.id());
  if (history == nullptr || team.broken()) return;
  CallHistory::Summary summary = history->Summarize();
  const CallsMessage message{team.id(), summary.first, std::move(summary.hashes)};
  for (const Incarnation neighbor : team.Neighbors()) link_->SendToPeer(neighbor, message);
}

void CallOrder::OnCalls(const Team& team, Incarnation from, const CallsMessage& message) const {
  const CallHistory* const history = Find(team.id());
  if (history == nullptr || team.broken()) return;
  const std::optional<uint64_t> number = history->FirstDifference(message.first, message.hashes);
  if (!number) return;
  link_->SendToPeer(from, CallsDifferMessage{team.id(), *number, *history->Find(*number), *node_});
}

std::optional<FailureReport> CallOrder::OnCallsDiffer(const CallsDifferMessage& message) const {
  const CallHistory* const history = Find(message.team);
  const RankArguments* const ours = history == nullptr ? nullptr : history->Find(message.number);
  if (ours == nullptr || ours->arguments == message.given.arguments) return std::nullopt;
  return MismatchReport(message.number, *ours, *node_, message.given, message.node);
}

}  // namespace copse::daemon
