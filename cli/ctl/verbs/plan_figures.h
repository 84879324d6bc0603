// SPDX-License-Identifier: Apache-2.0
//
// What was predicted of a plan's calls beside what they took, as cells of tables.
#ifndef COPSE_CLI_CTL_VERBS_PLAN_FIGURES_H_
#define COPSE_CLI_CTL_VERBS_PLAN_FIGURES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/client/admin_client.h"
#include "cli/client/style.h"
#include "cli/command_line/table.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

using PlanRows = google::protobuf::RepeatedPtrField<v1::PlanRow>;

// Returns "43.8 us", or "-" of a quick first plan that has not run, which is not priced.
std::string Predicted(const v1::PlanRow& plan);
// Returns "214.0 us", or "-" if no call is known.
std::string Measured(const v1::PlanRow& plan);
// Returns the size of the predicted call.
std::string PredictedAt(const v1::PlanRow& plan);

// Renders the line "measured: 214.0 us, median of 1000 calls of 8-15 bytes at n1; predicted: 43.8 us for 8B", with the
// reason if the prediction is off; empty if nothing was measured.
std::string MeasuredLine(const v1::PlanRow& plan);

// Returns the plan as JSON, edges as pairs.
Json PlanJson(const v1::PlanRow& plan);

// Adds a last column with reasons to `rows`, whose rows after the first are of `plans`, if there is any.
void AddReasons(const PlanRows& plans, cli::TableRows* rows);

// Asks for the team's plans whose calls were measured, without edges.
absl::StatusOr<PlanRows> MeasuredPlans(uint64_t team, AdminClient& client);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_PLAN_FIGURES_H_
