// SPDX-License-Identifier: Apache-2.0
#include "rpc/team_content.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "proto/copse/v1/control.pb.h"
#include "rpc/control_conversion.h"
#include "schedule/plan.h"
#include "schedule/testing/sample_plans.h"

namespace copse::rpc {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Returns a Prepare of a team `number` with one rank on each node, and two trees.
v1::Prepare PrepareOf(uint32_t nodes, uint64_t number) {
  schedule::Prepare prepare{.epoch = EpochId(1), .hash = number};
  prepare.layout.id = TeamId(number);
  prepare.layout.shape.node_count = nodes;
  for (uint32_t node = 0; node < nodes; ++node) {
    prepare.layout.shape.node_of_rank.push_back(NodeIndex(node));
    prepare.layout.nodes.push_back(
        {absl::StrCat("node", node), Incarnation(Mix64(node)), absl::StrCat("address of ", node)});
  }
  for (const Collective collective : {Collective::kBcast, Collective::kReduce}) {
    schedule::Plan plan = schedule::RandomTreePlan(collective, nodes, 1);
    plan.id = PlanId(10 * number + static_cast<uint64_t>(collective));
    prepare.plans.push_back(schedule::EncodePlan(plan));
  }
  v1::ToDaemon message;
  ToProto(prepare, &message);
  return std::move(*message.mutable_prepare());
}

v1::NodeContact ContactOf(const SplitPrepare& split, uint32_t node) {
  v1::NodeContact contact;
  contact.set_node(node);
  contact.set_worker_address(split.addresses[node]);
  return contact;
}

class JoinTest : public ::testing::Test {
 protected:
  // Joins a message of five nodes whose content is `bytes` instead of its own.
  absl::Status JoinWith(const v1::Prepare& shared) {
    const SplitPrepare proper = Split(shared, 0);
    ContentWindow window;
    window.Add("name", proper.content.zstd(), 1);
    v1::Prepare message = Split(PrepareOf(5, 1), 0).head;
    message.set_content("name");
    return Join(&window, &message);
  }
};

TEST(ContentNameTest, IsThatOfADaemonsReportWhateverAddressesItKnows) {
  for (const uint32_t nodes : {1, 2, 100}) {
    v1::ToDaemon message;
    *message.mutable_prepare() = PrepareOf(nodes, 7);
    const auto prepare = std::get<schedule::Prepare>(FromProto(message).value());
    v1::RunningTeam running;
    *running.mutable_layout() = message.prepare().layout();
    *running.mutable_plans() = message.prepare().plans();
    running.mutable_layout()->mutable_nodes(0)->set_worker_address("another");
    EXPECT_EQ(TakeContent(&running).sha256(), ContentName(prepare.layout, prepare.plans)) << nodes;
  }
}

TEST(SplitTest, JoinsToTheSameWithTheAddressesOfContacts) {
  const v1::Prepare before = PrepareOf(100, 7);
  const SplitPrepare split = Split(before, 300);
  ASSERT_EQ(CheckContent(split.content), absl::OkStatus());
  ContentWindow window;
  window.Add(split.content.sha256(), split.content.zstd(), split.content.zstd().size());
  v1::Prepare after = split.head;
  *after.add_contacts() = ContactOf(split, 3);
  ASSERT_EQ(Join(&window, &after), absl::OkStatus());
  v1::ToDaemon message;
  *message.mutable_prepare() = after;
  const auto joined = FromProto(message);
  ASSERT_TRUE(joined.ok()) << joined.status();
  *message.mutable_prepare() = before;
  const auto whole = FromProto(message);
  ASSERT_TRUE(whole.ok()) << whole.status();
  schedule::Prepare expected = std::get<schedule::Prepare>(*whole);
  for (uint32_t node = 0; node < 100; ++node) {
    if (node != 3) expected.layout.nodes[node].worker_address.clear();
  }
  EXPECT_EQ(std::get<schedule::Prepare>(*joined), expected);
}

TEST(SplitTest, TeamsOfTheSameNodesAndTreesHaveOneContent) {
  const SplitPrepare first = Split(PrepareOf(50, 7), 100);
  EXPECT_EQ(Split(PrepareOf(50, 8), 100).content.sha256(), first.content.sha256());
  EXPECT_NE(Split(PrepareOf(51, 7), 100).content.sha256(), first.content.sha256());
  EXPECT_LT(first.head.ByteSizeLong(), 100u);
}

TEST(SplitTest, ManyContactsAreInTheContent) {
  const SplitPrepare split = Split(PrepareOf(10, 7), 90);
  EXPECT_TRUE(split.addresses.empty());
  ContentWindow window;
  window.Add(split.content.sha256(), split.content.zstd(), 1);
  v1::Prepare after = split.head;
  ASSERT_EQ(Join(&window, &after), absl::OkStatus());
  EXPECT_EQ(after.layout().nodes(9).worker_address(), "address of 9");
}

TEST(SplitTest, LargeContentsAreSmall) {
  constexpr uint32_t kNodes = 10'000;
  const v1::Prepare before = PrepareOf(kNodes, 7);
  // Incarnations, of 8 bytes, are random.
  EXPECT_LT(Split(before, kNodes).content.zstd().size(), 20 * kNodes);
}

TEST(CheckContentTest, RefusesWhatIsNotWhatItsNameSays) {
  v1::TeamContent content = Split(PrepareOf(5, 7), 8).content;
  ASSERT_EQ(CheckContent(content), absl::OkStatus());
  v1::TeamContent other = content;
  other.set_sha256(Split(PrepareOf(6, 7), 8).content.sha256());
  EXPECT_THAT(CheckContent(other), FailsWith(kInvalid, "not what its name says"));
  other.set_zstd(content.zstd().substr(0, content.zstd().size() - 1));
  EXPECT_THAT(CheckContent(other), FailsWith(kInvalid, "damaged"));
  other.set_zstd("text");
  EXPECT_THAT(CheckContent(other), FailsWith(kInvalid, "bytes=4"));
  // A header that promises 64 GiB.
  other.set_zstd(std::string("\x28\xb5\x2f\xfd\xe0\0\0\0\0\x10\0\0\0", 13));
  EXPECT_THAT(CheckContent(other), FailsWith(kInvalid, "limit=67108864"));
}

TEST_F(JoinTest, RefusesWhatDoesNotFit) {
  v1::Prepare message = Split(PrepareOf(5, 1), 0).head;
  ContentWindow window;
  EXPECT_THAT(Join(&window, &message), FailsWith(kInvalid, "has not come before"));

  v1::Prepare lacking = PrepareOf(5, 1);
  lacking.mutable_plans()->RemoveLast();
  EXPECT_THAT(JoinWith(lacking), FailsWith(kInvalid, "ids=2, plans=1"));

  const SplitPrepare split = Split(PrepareOf(5, 1), 0);
  window.Add(split.content.sha256(), split.content.zstd(), 1);
  message = split.head;
  message.add_contacts()->set_node(5);
  EXPECT_THAT(Join(&window, &message), FailsWith(kInvalid, "node=5, nodes=5"));
}

// The sender's window, without bytes, and the receiver's always agree.
TEST(ContentWindowTest, BothEndsKeepTheSame) {
  Prng prng(1);
  ContentWindow sender, receiver;
  size_t named = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string name = absl::StrCat(prng.Below(30));
    const size_t size = prng.Below(kContentBytesMax / 4);
    const bool sent = sender.Use(name) == nullptr;
    if (sent) sender.Add(name, "", size);
    const std::string* held = receiver.Use(name);
    ASSERT_EQ(held == nullptr, sent);
    if (sent) receiver.Add(name, absl::StrCat("content ", name), size);
    held = receiver.Use(name);
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(*held, absl::StrCat("content ", name));
    named += !sent;
  }
  EXPECT_GT(named, 500u);
  EXPECT_LT(named, 4500u);
}

TEST(ContentWindowTest, KeepsTheNewestAndFewOthers) {
  ContentWindow window;
  window.Add("small", "s", 1);
  window.Add("huge", "h", 2 * kContentBytesMax);
  EXPECT_EQ(window.Use("small"), nullptr);
  EXPECT_NE(window.Use("huge"), nullptr);
  for (size_t i = 0; i < kContentsMax; ++i) window.Add(absl::StrCat(i), "x", 1);
  EXPECT_EQ(window.Use("huge"), nullptr);
  EXPECT_NE(window.Use("0"), nullptr);
  window.Add("one more", "x", 1);
  EXPECT_EQ(window.Use("1"), nullptr);
  EXPECT_NE(window.Use("0"), nullptr) << "it was used";
}

}  // namespace
}  // namespace copse::rpc
