// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/post_check.h"

#include <array>

#include "gtest/gtest.h"
#include "planner/schedule/plan.h"

namespace copse::daemon {
namespace {

using schedule::Collective;
using schedule::Failure;

std::array<uint8_t, 128> buffer;

CallPost Good(Collective collective) {
  CallPost post;
  post.arguments = {.collective = collective, .type = emu::AluType::kInt32, .count = 4, .root = 1};
  post.send = post.receive = buffer.data();
  post.send_bytes = post.receive_bytes = 16;
  return post;
}

void ExpectBad(const CallPost& post, Failure failure, const std::string& word, Rank rank = Rank(1)) {
  const schedule::FailureReport report = CheckPost(post, rank, 4);
  EXPECT_EQ(report.failure, failure) << report.text;
  EXPECT_NE(report.text.find(word), std::string::npos) << report.text;
}

TEST(CheckPostTest, AcceptsWhatIsRight) {
  for (int c = 0; c < schedule::kCommonCollectiveCount; ++c) {
    EXPECT_EQ(CheckPost(Good(static_cast<Collective>(c)), Rank(0), 4).failure, Failure::kNone);
    EXPECT_EQ(CheckPost(Good(static_cast<Collective>(c)), Rank(1), 4).failure, Failure::kNone);
  }
}

TEST(CheckPostTest, NothingIsNeededForNothing) {
  CallPost post = Good(Collective::kAllreduce);
  post.arguments.count = 0;
  post.send = post.receive = nullptr;
  EXPECT_EQ(CheckPost(post, Rank(0), 4).failure, Failure::kNone);
  EXPECT_EQ(CheckPost({.arguments = {.collective = Collective::kBarrier}}, Rank(0), 4).failure, Failure::kNone);
}

TEST(CheckPostTest, OnlyTheBuffersThatARankUses) {
  CallPost reduce = Good(Collective::kReduce);
  reduce.receive = nullptr;
  EXPECT_EQ(CheckPost(reduce, Rank(0), 4).failure, Failure::kNone) << "not the root";
  ExpectBad(reduce, Failure::kInvalidArgument, "receive buffer too small (bytes=0, needed=16)");
  CallPost bcast = Good(Collective::kBcast);
  bcast.send = nullptr;
  EXPECT_EQ(CheckPost(bcast, Rank(0), 4).failure, Failure::kNone);
  ExpectBad(bcast, Failure::kInvalidArgument, "send buffer too small");
}

TEST(CheckPostTest, NamesThingValueAndLimit) {
  CallPost post = Good(Collective::kReduce);
  post.arguments.root = 4;
  ExpectBad(post, Failure::kInvalidArgument, "root is no member (root=4, limit=3)");
  post = Good(Collective::kReduce);
  post.arguments.type = static_cast<emu::AluType>(emu::kAluTypeCount);
  ExpectBad(post, Failure::kInvalidArgument, "type=20, limit=19");
  post = Good(Collective::kAllreduce);
  post.arguments.op = static_cast<emu::AluOp>(emu::kAluOpCount);
  ExpectBad(post, Failure::kInvalidArgument, "op=12, limit=11");
  post = Good(Collective::kAllreduce);
  post.arguments.type = emu::AluType::kDouble;
  post.arguments.op = emu::AluOp::kBxor;
  ExpectBad(post, Failure::kInvalidArgument, "not defined on the type");
  post = Good(static_cast<Collective>(schedule::kCollectiveCount));
  ExpectBad(post, Failure::kInvalidArgument, "unknown collective");
}

TEST(CheckPostTest, CountsThatWouldOverflow) {
  CallPost post = Good(Collective::kAllreduce);
  for (const uint64_t count : {schedule::kMessageBytesMax / 4 + 1, uint64_t{1} << 62, ~uint64_t{0}}) {
    post.arguments.count = count;
    ExpectBad(post, Failure::kNotSupported, "limit=16384");
  }
}

TEST(CheckPostTest, InlineContributionsAreShort) {
  CallPost post = Good(Collective::kAllreduce);
  post.send_is_inline = true;
  post.send_bytes = kInlineBytesMax + 1;
  ExpectBad(post, Failure::kInvalidArgument, "inline");
}

}  // namespace
}  // namespace copse::daemon
