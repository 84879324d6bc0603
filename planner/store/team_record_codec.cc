// SPDX-License-Identifier: Apache-2.0
#include "planner/store/team_record_codec.h"

#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "proto/copse/v1/store.pb.h"
#include "rpc/control_conversion.h"
#include "rpc/team_content.h"

namespace copse::planner {
namespace {

using coordinator::TeamRecord;

// Returns the message of a stored field, or INVALID_ARGUMENT if it is not a valid T.
template <typename T>
absl::StatusOr<T> Get(const v1::ToDaemon& proto) {
  ASSIGN_OR_RETURN(schedule::ToDaemon message, rpc::FromProto(proto));
  if (!std::holds_alternative<T>(message)) return absl::InvalidArgumentError("another message than expected");
  return std::get<T>(std::move(message));
}

}  // namespace

std::string SerializeTeam(const TeamRecord& record) {
  v1::StoredTeam stored;
  const TeamRecord decision = coordinator::DecisionOf(record);
  rpc::ToProto(schedule::Prepare{.layout = decision.layout, .epoch = record.epoch}, stored.mutable_prepare());
  for (const PlanId plan : decision.plan_ids) stored.add_plan(plan.value());
  stored.set_content(record.plans.empty() ? record.content : rpc::ContentName(record.layout, record.plans));
  stored.set_prepared(record.prepared.value());
  stored.set_first_call(record.first_call.value());
  for (const auto& labels : record.outgoing) rpc::ToProto(schedule::Commit{.outgoing = labels}, stored.add_commit());
  for (const std::string& machine : record.machines) stored.add_machine(machine);
  if (record.broken)
    rpc::ToProto(schedule::BreakTeam{.team = record.layout.id, .why = record.why}, stored.mutable_broken());
  return stored.SerializeAsString();
}

absl::StatusOr<TeamRecord> DeserializeTeam(const std::string& bytes) {
  v1::StoredTeam stored;
  if (!stored.ParseFromString(bytes)) return absl::InvalidArgumentError("no record");
  ASSIGN_OR_RETURN(schedule::Prepare prepare, Get<schedule::Prepare>(stored.prepare()));
  TeamRecord record{.layout = std::move(prepare.layout),
                    .epoch = prepare.epoch,
                    .prepared = EpochId(stored.prepared()),
                    .first_call = CallSeq(stored.first_call()),
                    .plans = std::move(prepare.plans),
                    .content = stored.content()};
  for (const uint64_t plan : stored.plan()) record.plan_ids.emplace_back(plan);
  for (const v1::ToDaemon& commit : stored.commit()) {
    ASSIGN_OR_RETURN(schedule::Commit labels, Get<schedule::Commit>(commit));
    record.outgoing.push_back(std::move(labels.outgoing));
  }
  if (!record.outgoing.empty() && record.outgoing.size() != record.layout.nodes.size()) {
    return absl::InvalidArgumentError("labels of another number of nodes");
  }
  record.machines.assign(stored.machine().begin(), stored.machine().end());
  record.machines.resize(record.layout.nodes.size());
  if (stored.has_broken()) {
    ASSIGN_OR_RETURN(schedule::BreakTeam broken, Get<schedule::BreakTeam>(stored.broken()));
    record.broken = true;
    record.why = std::move(broken.why);
  }
  return record;
}

}  // namespace copse::planner
