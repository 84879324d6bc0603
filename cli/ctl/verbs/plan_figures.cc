// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/plan_figures.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/client/message_json.h"
#include "cli/ctl/verbs/plan_size.h"

namespace copse::ctl {
namespace {

std::string MicrosecondsOrDash(double us) { return us == 0 ? "-" : absl::StrFormat("%.1f us", us); }

}  // namespace

std::string Predicted(const v1::PlanRow& plan) { return MicrosecondsOrDash(plan.predicted_us()); }

std::string Measured(const v1::PlanRow& plan) { return MicrosecondsOrDash(plan.measured().median_us()); }

std::string PredictedAt(const v1::PlanRow& plan) { return FormatBytes(static_cast<int64_t>(plan.predicted_bytes())); }

std::string MeasuredLine(const v1::PlanRow& plan) {
  if (!plan.has_measured()) return "";
  const v1::PlanMeasurement& measured = plan.measured();
  return absl::StrCat("measured: ", Measured(plan), ", median of ", measured.count(), " calls of ",
                      SizeClassOf(measured.bytes_min(), measured.bytes_max()), " bytes at ",
                      cli::Printable(measured.node()), "; predicted: ", Predicted(plan), " for ", PredictedAt(plan),
                      measured.why().empty() ? "" : "\noff: ", cli::Printable(measured.why()), "\n");
}

Json PlanJson(const v1::PlanRow& plan) {
  Json json = ToJson(plan);
  for (Json& edge : json["edges"]) edge = Json::array({edge["from"], edge["to"]});
  return json;
}

void AddReasons(const PlanRows& plans, cli::TableRows* rows) {
  const auto has_reason = [](const v1::PlanRow& plan) { return !plan.measured().why().empty(); };
  if (std::none_of(plans.begin(), plans.end(), has_reason)) return;
  rows->front().push_back("OFF");
  for (int i = 0; i < plans.size(); ++i) (*rows)[static_cast<size_t>(i) + 1].push_back(plans[i].measured().why());
}

absl::StatusOr<PlanRows> MeasuredPlans(uint64_t team, AdminClient& client) {
  v1::ListPlansRequest request;
  request.set_team(team);
  request.set_measured(true);
  request.set_without_edges(true);
  ASSIGN_OR_RETURN(v1::ListPlansReply reply,
                   client.CallForRows(PlannerAdmin::StreamPlans, PlannerAdmin::ListPlans, request));
  PlanRows plans;
  for (v1::PlanRow& plan : *reply.mutable_plans()) {
    if (plan.has_measured()) *plans.Add() = std::move(plan);
  }
  return plans;
}

}  // namespace copse::ctl
