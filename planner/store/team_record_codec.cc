// SPDX-License-Identifier: Apache-2.0
#include "planner/store/team_record_codec.h"

#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "proto/copse/v1/store.pb.h"
#include "rpc/control_conversion.h"

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
  rpc::ToProto(schedule::Prepare{.layout = record.layout, .epoch = record.epoch, .plans = record.plans},
               stored.mutable_prepare());
  stored.set_prepared(record.prepared.value());
  stored.set_first_call(record.first_call.value());
  for (const auto& labels : record.outgoing) {
    rpc::ToProto(
        schedule::Commit{
            .team = record.layout.id, .epoch = record.epoch, .first_call = record.first_call, .outgoing = labels},
        stored.add_commit());
  }
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
                    .plans = std::move(prepare.plans)};
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
