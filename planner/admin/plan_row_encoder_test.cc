// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/plan_row_encoder.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/admin/admin_rows.h"
#include "proto/copse/v1/admin.pb.h"
#include "schedule/testing/sample_plans.h"

namespace copse::planner {
namespace {

// A team with nodes of names of its own.
schedule::TeamLayout Layout(uint64_t id, uint32_t nodes) {
  schedule::TeamLayout layout{.id = TeamId(id)};
  for (uint32_t i = 0; i < nodes; ++i)
    layout.nodes.push_back({.name = absl::StrCat("n", id, std::string(100, 'x'), i)});
  return layout;
}

// Expects that the plan's row is what FillPlan and FillEdges make of it.
void ExpectRow(PlanRowEncoder* encoder, const schedule::TeamLayout& layout, const schedule::Plan& plan) {
  const std::string encoded = schedule::EncodePlan(plan);
  const PlanShape* const shape = encoder->ShapeOf(encoded);
  ASSERT_NE(shape, nullptr);
  v1::PlanRow row, expected;
  std::string bytes = PlanRowEncoder::RowOf({.id = plan.id, .epoch = EpochId(3), .layout = &layout}, *shape);
  encoder->AppendEdges(layout, *shape, &bytes);
  ASSERT_TRUE(row.ParseFromString(bytes));
  const coordinator::PlanInfo info{layout, EpochId(3), plan};
  FillPlan(info, {}, &expected);
  FillEdges(info, &expected);
  EXPECT_EQ(row.SerializeAsString(), expected.SerializeAsString());
  EXPECT_GT(row.edges_size(), 0);
}

TEST(PlanRowEncoderTest, TeamsThatHavePlansAlikeHaveTheirOwnRows) {
  PlanRowEncoder encoder;
  schedule::Plan plan = schedule::RandomTreePlan(Collective::kAllreduce, 9, 1);
  for (const uint64_t id : {7, 8}) {
    plan.id = PlanId(id);
    ExpectRow(&encoder, Layout(id, 9), plan);
  }
  plan.algorithm = "other";
  plan.id = PlanId(9);
  ExpectRow(&encoder, Layout(8, 9), plan);
}

TEST(PlanRowEncoderTest, OnePlanIsDecodedForAllThatAreAlike) {
  PlanRowEncoder encoder;
  schedule::Plan plan = schedule::StarPlan(Collective::kBcast, 3);
  const PlanShape* const first = encoder.ShapeOf(schedule::EncodePlan(plan));
  plan.id = PlanId(2);
  EXPECT_EQ(encoder.ShapeOf(schedule::EncodePlan(plan)), first);
  plan.predicted_us = 5;
  EXPECT_NE(encoder.ShapeOf(schedule::EncodePlan(plan)), first);
}

TEST(PlanRowEncoderTest, WhatIsNoPlanHasNoShape) {
  PlanRowEncoder encoder;
  EXPECT_EQ(encoder.ShapeOf(""), nullptr);
  EXPECT_EQ(encoder.ShapeOf(schedule::EncodePlan(schedule::StarPlan(Collective::kBcast, 3)) + "x"), nullptr);
}

TEST(PlanRowEncoderTest, WhatIsKeptIsBounded) {
  PlanRowEncoder encoder;
  schedule::Plan plan = schedule::StarPlan(Collective::kBcast, 100'000);
  for (uint64_t id = 1; id <= 8; ++id) {
    plan.predicted_us = static_cast<double>(id);
    const PlanShape* const shape = encoder.ShapeOf(schedule::EncodePlan(plan));
    ASSERT_NE(shape, nullptr);
    EXPECT_EQ(shape->plan.predicted_us, plan.predicted_us);
    EXPECT_LE(encoder.kept_bytes(), PlanRowEncoder::kKeptBytesMax);
  }
}

}  // namespace
}  // namespace copse::planner
