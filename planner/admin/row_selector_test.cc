// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/row_selector.h"

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
const SelectableBy kAll{.owner = true, .states = {"forming", "ready"}};

schedule::TeamLayout Layout() {
  schedule::TeamLayout layout{.identity = {.uid = 1000, .job = "17", .name = "world"}};
  layout.nodes = {{"n1", Incarnation(1), ""}, {"n7", Incarnation(1), ""}};
  return layout;
}

TEST(RowSelectorTest, WithoutValuesItHoldsForAll) {
  const RowSelector all = RowSelector::Create({}, {}).value();
  EXPECT_TRUE(all.HasNode("n1") && all.HasState("ready") && all.HasTeam(Layout()));
  EXPECT_FALSE(all.selects_teams());
}

TEST(RowSelectorTest, AllValuesMustHold) {
  v1::RowSelector proto;
  proto.set_nodes("n[5-7],login");
  EXPECT_TRUE(RowSelector::Create(proto, kAll)->HasNode("login"));
  EXPECT_FALSE(RowSelector::Create(proto, kAll)->HasNode("n1"));
  EXPECT_TRUE(RowSelector::Create(proto, kAll)->HasTeam(Layout())) << "n7 is one of them";
  proto.set_uid(1000);
  proto.set_job("17");
  proto.set_state("ready");
  const RowSelector selector = RowSelector::Create(proto, kAll).value();
  EXPECT_TRUE(selector.HasTeam(Layout()));
  EXPECT_TRUE(selector.HasState("ready"));
  EXPECT_FALSE(selector.HasState("forming"));
  for (const auto& change : {+[](schedule::TeamLayout* layout) { layout->identity.uid = 0; },
                             +[](schedule::TeamLayout* layout) { layout->identity.job = "1"; },
                             +[](schedule::TeamLayout* layout) { layout->nodes.pop_back(); }}) {
    schedule::TeamLayout other = Layout();
    change(&other);
    EXPECT_FALSE(selector.HasTeam(other));
  }
}

TEST(RowSelectorTest, InvalidValuesAreRefusedWithWhatIsAllowed) {
  v1::RowSelector proto;
  proto.set_nodes("n[1-");
  EXPECT_THAT(RowSelector::Create(proto, kAll), FailsWith(kInvalid, "n[1-"));
  proto.set_nodes(" ");
  EXPECT_THAT(RowSelector::Create(proto, kAll), FailsWith(kInvalid, "node= "));
  proto.set_nodes("n[1-65537]");
  EXPECT_THAT(RowSelector::Create(proto, kAll), FailsWith(absl::StatusCode::kResourceExhausted, "65536"));
  proto.Clear();
  proto.set_state("asleep");
  EXPECT_THAT(RowSelector::Create(proto, kAll), FailsWith(kInvalid, "state=asleep", "known=forming ready"));
  EXPECT_THAT(RowSelector::Create(proto, {.owner = true}),
              FailsWith(kInvalid, "state=asleep", "allowed=node user job"));
  proto.Clear();
  proto.set_uid(0);
  EXPECT_THAT(RowSelector::Create(proto, {.states = {"ready"}}), FailsWith(kInvalid, "user=0", "allowed=node state"));
  proto.Clear();
  proto.set_job("17");
  EXPECT_THAT(RowSelector::Create(proto, {}), FailsWith(kInvalid, "job=17", "allowed=node"));
}

}  // namespace
}  // namespace copse::planner
