// SPDX-License-Identifier: Apache-2.0
//
// Encodes the record of a team for the planner's stores.
#ifndef COPSE_PLANNER_STORE_TEAM_RECORD_CODEC_H_
#define COPSE_PLANNER_STORE_TEAM_RECORD_CODEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "planner/coordinator/interfaces/store.h"

namespace copse::planner {

// Returns the bytes of a v1::StoredTeam, which has the record's DecisionOf, with the name of its content.
std::string SerializeTeam(const coordinator::TeamRecord& record);

// Returns the record that SerializeTeam has encoded. INVALID_ARGUMENT if the bytes are not one.
absl::StatusOr<coordinator::TeamRecord> DeserializeTeam(const std::string& bytes);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STORE_TEAM_RECORD_CODEC_H_
