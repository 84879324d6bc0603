// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/post_check.h"

#include <array>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "schedule/block_list.h"
#include "schedule/plan.h"

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
  for (const uint64_t count : {schedule::kCallBytesMax / 4 + 1, uint64_t{1} << 62, ~uint64_t{0}}) {
    post.arguments.count = count;
    ExpectBad(post, Failure::kNotSupported, absl::StrCat("limit=", schedule::kCallBytesMax / 4));
  }
}

// --- Blocks ---

// Of four ranks, rank 1 the root; room for four blocks of 16 bytes.
CallPost GoodBlocks(Collective collective) {
  CallPost post = Good(collective);
  post.send_bytes = post.receive_bytes = 64;
  return post;
}

TEST(CheckPostTest, EqualBlocksNeedRoomForAll) {
  for (const Collective c : {Collective::kGather, Collective::kAllgather, Collective::kAlltoall}) {
    CallPost post = GoodBlocks(c);
    EXPECT_EQ(CheckPost(post, Rank(1), 4).failure, Failure::kNone);
    post.receive_bytes = 63;
    ExpectBad(post, Failure::kInvalidArgument, "receive buffer too small (bytes=63, needed=64)");
  }
  for (const Collective c : {Collective::kScatter, Collective::kReduceScatter, Collective::kAlltoall}) {
    CallPost post = GoodBlocks(c);
    EXPECT_EQ(CheckPost(post, Rank(1), 4).failure, Failure::kNone);
    post.send_bytes = 63;
    ExpectBad(post, Failure::kInvalidArgument, "send buffer too small (bytes=63, needed=64)");
  }
  CallPost exscan = Good(Collective::kExscan);
  exscan.receive = nullptr;
  EXPECT_EQ(CheckPost(exscan, Rank(0), 4).failure, Failure::kNone);
  ExpectBad(exscan, Failure::kInvalidArgument, "receive buffer too small");
}

TEST(CheckPostTest, AllBlocksTogetherAreBounded) {
  CallPost post = GoodBlocks(Collective::kAllgather);
  post.arguments.count = schedule::kCallBytesMax / 16 + 1;
  ExpectBad(post, Failure::kNotSupported, "message too long (count=4398046511105, limit=4398046511104)");
}

CallPost GoodGatherv(schedule::BlockList blocks) {
  CallPost post = GoodBlocks(Collective::kGatherv);
  post.arguments.count = 0;
  post.send_bytes = 16;
  post.receive_blocks = std::make_shared<schedule::BlockList>(std::move(blocks));
  return post;
}

TEST(CheckPostTest, ListsStayInsideTheirBuffers) {
  const schedule::BlockList good = {{0, 16}, {48, 16}, {24, 4}, {~uint64_t{0}, 0}};
  EXPECT_EQ(CheckPost(GoodGatherv(good), Rank(1), 4).failure, Failure::kNone);
  ExpectBad(GoodGatherv({{0, 16}, {0, 16}}), Failure::kInvalidArgument, "blocks are not one a rank (blocks=2, size=4)");
  schedule::BlockList bad = good;
  bad[0] = {49, 16};
  ExpectBad(GoodGatherv(bad), Failure::kInvalidArgument,
            "receive block leaves its buffer (offset=49, bytes=16, limit=64)");
  bad[0] = {~uint64_t{7}, 16};
  ExpectBad(GoodGatherv(bad), Failure::kInvalidArgument, "leaves its buffer");
  bad[0] = {0, 15};
  ExpectBad(GoodGatherv(bad), Failure::kInvalidArgument, "not of whole elements (bytes=15, type_bytes=4)");
  bad = {{0, uint64_t{1} << 45}, {0, 16}, {0, uint64_t{1} << 45}, {0, 0}};
  ExpectBad(GoodGatherv(bad), Failure::kNotSupported, "receive blocks are too long");
  CallPost none = GoodGatherv(good);
  none.receive_blocks = nullptr;
  ExpectBad(none, Failure::kInvalidArgument, "blocks=0");
  none = GoodGatherv(good);
  none.receive = nullptr;
  ExpectBad(none, Failure::kInvalidArgument, "leaves its buffer");
}

TEST(CheckPostTest, ABlockIsAsLongAsTheCountsSay) {
  const schedule::BlockList blocks = {{0, 16}, {48, 12}, {24, 4}, {0, 0}};
  ExpectBad(GoodGatherv(blocks), Failure::kInvalidArgument,
            "send buffer is not as long as the counts say (bytes=16, counts=12)");
  CallPost post = GoodGatherv(blocks);
  post.arguments.collective = Collective::kAllgatherv;
  post.arguments.count = 8;
  EXPECT_EQ(CheckPost(post, Rank(0), 4).failure, Failure::kNone);
  post.arguments.count = 7;
  ExpectBad(post, Failure::kInvalidArgument, "count is not of all blocks (count=7, blocks=8)", Rank(0));
  // Off the root only sizes matter, and only if they are known.
  post = GoodGatherv(blocks);
  post.arguments.options = schedule::kCountsKnown;
  post.receive = nullptr;
  EXPECT_EQ(CheckPost(post, Rank(0), 4).failure, Failure::kNone);
  ExpectBad(post, Failure::kInvalidArgument, "not as long as the counts say (bytes=16, counts=4)", Rank(2));
}

TEST(CheckPostTest, ABoundOfPairsIsNoCount) {
  const schedule::BlockList blocks = {{0, 16}, {48, 12}, {24, 4}, {0, 0}};
  CallPost post = GoodGatherv(blocks);
  post.arguments.collective = Collective::kAlltoallv;
  post.send_blocks = post.receive_blocks;
  post.send_bytes = post.receive_bytes;
  EXPECT_EQ(CheckPost(post, Rank(0), 4).failure, Failure::kNone);
  post.arguments.count = 1000;
  ExpectBad(post, Failure::kInvalidArgument, "count is not of all blocks (count=1000, blocks=0)", Rank(0));
  post.arguments.options = schedule::kPairsBounded;
  EXPECT_EQ(CheckPost(post, Rank(0), 4).failure, Failure::kNone);
  post.arguments.count = schedule::kPairBoundMax / 4;
  EXPECT_EQ(CheckPost(post, Rank(0), 4).failure, Failure::kNone);
  ++post.arguments.count;
  ExpectBad(post, Failure::kNotSupported, "limit=268435456", Rank(0));
}

TEST(CheckPostTest, InlineContributionsAreShort) {
  CallPost post = Good(Collective::kAllreduce);
  post.send_is_inline = true;
  post.send_bytes = kInlineBytesMax + 1;
  ExpectBad(post, Failure::kInvalidArgument, "inline");
}

}  // namespace
}  // namespace copse::daemon
