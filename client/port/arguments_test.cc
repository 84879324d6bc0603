// SPDX-License-Identifier: Apache-2.0

#include "client/port/arguments.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/testing/status_matchers.h"
#include "client/port/error.h"

namespace copse::client {
namespace {

using copse::testing::Names;
using copse::testing::NamesMatcher;

constexpr uint64_t kMessageBytesMax = 65536;

class PlanCallTest : public ::testing::Test {
 protected:
  copse_coll_args_t Allreduce() {
    copse_coll_args_t args{.collective = COPSE_COLL_ALLREDUCE,
                           .type = DoubleType(),
                           .op = COPSE_OP_SUM,
                           .send = send_,
                           .recv = recv_,
                           .count = 4};
    return args;
  }
  copse_coll_args_t Reduce(uint32_t root) {
    copse_coll_args_t args = Allreduce();
    args.collective = COPSE_COLL_REDUCE;
    args.root = root;
    return args;
  }
  copse_coll_args_t Bcast(uint32_t root) {
    copse_coll_args_t args{
        .collective = COPSE_COLL_BCAST, .type = DoubleType(), .root = root, .recv = recv_, .count = 4};
    return args;
  }
  static copse_datatype_t DoubleType() { return COPSE_DT_DOUBLE; }

  copse_status_t Plan(const copse_coll_args_t& args, uint32_t rank = 1) {
    return PlanCall(args, rank, 8, kMessageBytesMax, &plan_);
  }
  void ExpectError(const copse_coll_args_t& args, copse_status_t status, const NamesMatcher& names, uint32_t rank = 1) {
    EXPECT_EQ(Plan(args, rank), status);
    EXPECT_THAT(LastError(), names);
  }

  static uint8_t* Bytes(double* address) { return reinterpret_cast<uint8_t*>(address); }

  double send_[64] = {};
  double recv_[64] = {};
  CallPlan plan_;
};

TEST_F(PlanCallTest, BarrierReadsNothingElse) {
  copse_coll_args_t args{.collective = COPSE_COLL_BARRIER,
                         .type = static_cast<copse_datatype_t>(77),
                         .op = static_cast<copse_op_t>(77),
                         .root = 77,
                         .count = UINT64_MAX};
  ASSERT_EQ(Plan(args), COPSE_OK);
  EXPECT_EQ(plan_.count, 0u);
  EXPECT_EQ(plan_.send.address, nullptr);
  EXPECT_EQ(plan_.receive.address, nullptr);
}

TEST_F(PlanCallTest, BcastGivesAtTheRootAndGetsElsewhere) {
  ASSERT_EQ(Plan(Bcast(1), 1), COPSE_OK);
  EXPECT_EQ(plan_.send.address, Bytes(recv_));
  EXPECT_EQ(plan_.receive.address, nullptr);
  ASSERT_EQ(Plan(Bcast(1), 2), COPSE_OK);
  EXPECT_EQ(plan_.send.address, nullptr);
  EXPECT_EQ(plan_.receive.address, Bytes(recv_));
}

TEST_F(PlanCallTest, BcastTakesItsBufferAsSendToo) {
  copse_coll_args_t args = Bcast(1);
  for (const void* send : {static_cast<const void*>(recv_), static_cast<const void*>(COPSE_IN_PLACE)}) {
    args.send = send;
    EXPECT_EQ(Plan(args), COPSE_OK);
  }
  args.send = send_;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("NULL", "COPSE_IN_PLACE"));
}

TEST_F(PlanCallTest, ReduceReceivesAtTheRootOnly) {
  ASSERT_EQ(Plan(Reduce(1), 1), COPSE_OK);
  EXPECT_EQ(plan_.receive.address, Bytes(recv_));
  copse_coll_args_t args = Reduce(1);
  args.recv = nullptr;
  ASSERT_EQ(Plan(args, 2), COPSE_OK);
  EXPECT_EQ(plan_.send.address, Bytes(send_));
  EXPECT_EQ(plan_.receive.address, nullptr);
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("buffer=receive", "count=4"), 1);
}

TEST_F(PlanCallTest, InPlaceForAllreduceAndTheRootOfAReduce) {
  copse_coll_args_t args = Allreduce();
  args.send = COPSE_IN_PLACE;
  ASSERT_EQ(Plan(args), COPSE_OK);
  EXPECT_EQ(plan_.send.address, Bytes(recv_));
  EXPECT_EQ(plan_.receive.address, Bytes(recv_));
  args = Reduce(1);
  args.send = COPSE_IN_PLACE;
  ASSERT_EQ(Plan(args, 1), COPSE_OK);
  EXPECT_EQ(plan_.send.address, Bytes(recv_));
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("rank=2", "root=1"), 2);
  args = Allreduce();
  args.recv = COPSE_IN_PLACE;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("recv=COPSE_IN_PLACE"));
}

TEST_F(PlanCallTest, CountZeroNeedsNoBuffers) {
  for (copse_coll_args_t args : {Allreduce(), Reduce(1), Bcast(1)}) {
    args.count = 0;
    args.send = nullptr;
    args.recv = nullptr;
    EXPECT_EQ(Plan(args), COPSE_OK);
  }
}

TEST_F(PlanCallTest, NullBuffersAreRefused) {
  copse_coll_args_t args = Allreduce();
  args.send = nullptr;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("buffer=send", "count=4"));
  args = Allreduce();
  args.recv = nullptr;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("buffer=receive", "count=4"));
  args = Bcast(1);
  args.recv = nullptr;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("buffer=bcast", "count=4"));
}

TEST_F(PlanCallTest, RootMustBeAMember) {
  ExpectError(Reduce(9), COPSE_ERR_INVALID_ARGUMENT, Names("root=9", "size=8"));
  ExpectError(Bcast(8), COPSE_ERR_INVALID_ARGUMENT, Names("root=8", "size=8"));
}

TEST_F(PlanCallTest, UnknownValuesAreRefused) {
  copse_coll_args_t args = Allreduce();
  for (const int value : {-1, 20, 1 << 30}) {
    args.type = static_cast<copse_datatype_t>(value);
    ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("type=" + std::to_string(value), "limit=19"));
  }
  args = Allreduce();
  for (const int value : {-1, 12}) {
    args.op = static_cast<copse_op_t>(value);
    ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("op=" + std::to_string(value), "limit=11"));
  }
  for (const int value : {-1, kCollectiveCount}) {
    args.collective = static_cast<copse_collective_t>(value);
    ExpectError(args, COPSE_ERR_INVALID_ARGUMENT,
                Names("collective=" + std::to_string(value), "limit=" + std::to_string(kCollectiveCount - 1)));
  }
  args = Allreduce();
  args.mask = 32;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("copse_coll_args_t", "mask=0x20", "known=0x1f"));
  args.mask = COPSE_COLL_ARGS_FIELD_FLAGS;
  args.flags = 4;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("flags=0x4", "known=0x3"));
}

TEST_F(PlanCallTest, OperationsMustBeDefinedOnTheType) {
  copse_coll_args_t args = Allreduce();
  args.op = COPSE_OP_BAND;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("op=band", "type=double"));
}

TEST_F(PlanCallTest, OverlapIsRefused) {
  copse_coll_args_t args = Allreduce();
  args.send = args.recv;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("COPSE_IN_PLACE", "bytes=32"));
  args.send = recv_ + 3;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("COPSE_IN_PLACE", "bytes=32"));
  args.send = recv_ + 4;
  EXPECT_EQ(Plan(args), COPSE_OK);
}

TEST_F(PlanCallTest, LongMessagesAreNotSupportedYet) {
  copse_coll_args_t args = Bcast(1);
  args.count = kMessageBytesMax / sizeof(double);
  EXPECT_EQ(Plan(args), COPSE_OK);
  args.count += 1;
  ExpectError(args, COPSE_ERR_NOT_SUPPORTED, Names("count=8193", "type_bytes=8", "limit=8192"));
  args.count = UINT64_MAX;  // times 8 is small modulo 2^64
  ExpectError(args, COPSE_ERR_NOT_SUPPORTED, Names("count=18446744073709551615", "limit=8192"));
}

// --- Blocks, of teams of eight ---

class PlanBlocksTest : public PlanCallTest {
 protected:
  copse_coll_args_t Blocks(copse_collective_t collective, uint32_t root = 1) {
    copse_coll_args_t args = Allreduce();
    args.collective = collective;
    args.root = root;
    args.count = 3;
    return args;
  }
  // Irregular: three elements each, but none of rank 5.
  copse_coll_args_t Lists(copse_collective_t collective, uint32_t root = 1) {
    copse_coll_args_t args = Blocks(collective, root);
    args.mask = COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_RECV_COUNTS;
    args.send_counts = args.recv_counts = counts_;
    return args;
  }

  uint64_t counts_[8] = {3, 3, 3, 3, 3, 0, 3, 3};
  uint64_t begins_[8] = {0, 7, 14, 21, 28, 999, 35, 42};
};

TEST_F(PlanBlocksTest, EqualBlocksAreAsManyAsRanks) {
  ASSERT_EQ(Plan(Blocks(COPSE_COLL_GATHER), 1), COPSE_OK) << LastError();
  EXPECT_EQ(plan_.send.bytes, 24u);
  EXPECT_EQ(plan_.receive.bytes, 192u);
  EXPECT_EQ(plan_.nesting, Nesting::kSendInReceive);
  EXPECT_EQ(plan_.own_offset, 24u);
  ASSERT_EQ(Plan(Blocks(COPSE_COLL_GATHER), 0), COPSE_OK);
  EXPECT_EQ(plan_.receive.address, nullptr);
  EXPECT_EQ(plan_.nesting, Nesting::kNone);
  ASSERT_EQ(Plan(Blocks(COPSE_COLL_SCATTER), 1), COPSE_OK);
  EXPECT_EQ(plan_.send.bytes, 192u);
  EXPECT_EQ(plan_.receive.bytes, 24u);
  ASSERT_EQ(Plan(Blocks(COPSE_COLL_ALLTOALL), 4), COPSE_OK);
  EXPECT_EQ(plan_.send.bytes, 192u);
  EXPECT_EQ(plan_.receive.bytes, 192u);
  ASSERT_EQ(Plan(Blocks(COPSE_COLL_REDUCE_SCATTER), 4), COPSE_OK);
  EXPECT_EQ(plan_.send.bytes, 192u);
  EXPECT_EQ(plan_.receive.bytes, 24u);
  ASSERT_EQ(Plan(Blocks(COPSE_COLL_EXSCAN), 0), COPSE_OK);
  EXPECT_EQ(plan_.receive.address, nullptr);
  ASSERT_EQ(Plan(Blocks(COPSE_COLL_EXSCAN), 1), COPSE_OK);
  EXPECT_EQ(plan_.receive.bytes, 24u);
}

TEST_F(PlanBlocksTest, AllBlocksTogetherAreBounded) {
  copse_coll_args_t args = Blocks(COPSE_COLL_ALLGATHER);
  args.count = kMessageBytesMax / 64 + 1;
  ExpectError(args, COPSE_ERR_NOT_SUPPORTED, Names("count=1025", "type_bytes=8", "blocks=8", "limit=1024"));
  args = Lists(COPSE_COLL_ALLGATHERV);
  counts_[2] = uint64_t{1} << 61;  // times 8 is 0 modulo 2^64
  ExpectError(args, COPSE_ERR_NOT_SUPPORTED,
              Names("rank=2", "count=2305843009213693952", "type_bytes=8", "bytes_before=48", "limit=65536"));
  args = Lists(COPSE_COLL_GATHERV);
  args.count = 8193;
  ExpectError(args, COPSE_ERR_NOT_SUPPORTED, Names("count=8193", "type_bytes=8", "limit=8192"), 0);
}

TEST_F(PlanBlocksTest, CountsAreNeededWhereTheyAreRead) {
  for (const copse_collective_t c : {COPSE_COLL_GATHERV, COPSE_COLL_ALLGATHERV, COPSE_COLL_REDUCE_SCATTERV}) {
    copse_coll_args_t args = Lists(c);
    args.mask = COPSE_COLL_ARGS_FIELD_SEND_COUNTS;
    ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("recv_counts", "size=8"));
  }
  for (const copse_collective_t c : {COPSE_COLL_SCATTERV, COPSE_COLL_ALLTOALLV}) {
    copse_coll_args_t args = Lists(c);
    args.send_counts = nullptr;
    ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("send_counts", "size=8"));
  }
  copse_coll_args_t args = Lists(COPSE_COLL_GATHERV);
  args.recv_counts = nullptr;
  EXPECT_EQ(Plan(args, 0), COPSE_OK) << "not the root";
  EXPECT_EQ(plan_.receive.blocks, nullptr);
  args.mask |= COPSE_COLL_ARGS_FIELD_FLAGS;
  args.flags = COPSE_COLL_FLAG_COUNTS_KNOWN;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("recv_counts", "size=8"), 0);
  args.recv_counts = counts_;
  ASSERT_EQ(Plan(args, 0), COPSE_OK);
  EXPECT_EQ(plan_.receive.address, nullptr);
  ASSERT_NE(plan_.receive.blocks, nullptr);
  EXPECT_EQ(plan_.receive.blocks->bytes(), 168u);
}

TEST_F(PlanBlocksTest, ARanksOwnCountIsWhatTheCountsSay) {
  copse_coll_args_t args = Lists(COPSE_COLL_GATHERV);
  args.count = 2;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("count=2", "rank=1", "counted=3"));
  EXPECT_EQ(Plan(args, 0), COPSE_OK) << "the root will tell";
  args.collective = COPSE_COLL_ALLGATHERV;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("rank=0", "counted=3"), 0);
  args.collective = COPSE_COLL_SCATTERV;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("rank=1", "counted=3"));
  args.send = COPSE_IN_PLACE;
  args.collective = COPSE_COLL_ALLGATHERV;
  ASSERT_EQ(Plan(args, 0), COPSE_OK) << "not read in place";
  EXPECT_EQ(plan_.count, 3u);
}

TEST_F(PlanBlocksTest, DisplacementsSayWhereBlocksLie) {
  copse_coll_args_t args = Lists(COPSE_COLL_GATHERV, 2);
  args.mask |= COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
  args.recv_displacements = begins_;
  ASSERT_EQ(Plan(args, 2), COPSE_OK) << LastError();
  EXPECT_EQ(plan_.receive.bytes, 168u);
  EXPECT_EQ(plan_.receive.span, 360u);
  EXPECT_EQ(plan_.own_offset, 112u);
  EXPECT_EQ(plan_.own_packed_offset, 48u);
  begins_[3] = 16;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT,
              Names("rank=3", "other=2", "offset=128", "other_offset=112", "other_bytes=24"), 2);
  begins_[3] = 17;
  EXPECT_EQ(Plan(args, 2), COPSE_OK);
  std::swap(begins_[0], begins_[7]);
  EXPECT_EQ(Plan(args, 2), COPSE_OK) << "in any order";
  begins_[4] = uint64_t{1} << 60;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT,
              Names("rank=4", "displacement=1152921504606846976", "type_bytes=8", "limit=576460752303423488"), 2);
  // What is sent may overlap.
  args = Lists(COPSE_COLL_SCATTERV);
  uint64_t same[8] = {};
  args.mask |= COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS;
  args.send_displacements = same;
  ASSERT_EQ(Plan(args), COPSE_OK) << LastError();
  EXPECT_EQ(plan_.send.span, 24u);
}

TEST_F(PlanBlocksTest, InPlaceAsMpiHasIt) {
  copse_coll_args_t args = Blocks(COPSE_COLL_ALLGATHER);
  args.send = COPSE_IN_PLACE;
  ASSERT_EQ(Plan(args, 2), COPSE_OK);
  EXPECT_EQ(plan_.send.address, Bytes(recv_ + 6));
  args.collective = COPSE_COLL_GATHER;
  ASSERT_EQ(Plan(args, 1), COPSE_OK);
  EXPECT_EQ(plan_.send.address, Bytes(recv_ + 3));
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("rank=2", "root=1"), 2);
  for (const copse_collective_t c : {COPSE_COLL_ALLTOALL, COPSE_COLL_REDUCE_SCATTER}) {
    args.collective = c;
    ASSERT_EQ(Plan(args, 2), COPSE_OK);
    EXPECT_EQ(plan_.send.address, Bytes(recv_));
    EXPECT_TRUE(plan_.in_place);
    EXPECT_EQ(plan_.nesting, Nesting::kNone);
  }
  args = Blocks(COPSE_COLL_SCATTER);
  args.recv = COPSE_IN_PLACE;
  ASSERT_EQ(Plan(args, 1), COPSE_OK);
  EXPECT_EQ(plan_.receive.address, Bytes(send_ + 3));
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("rank=2", "root=1"), 2);
  args = Blocks(COPSE_COLL_SCATTER);
  args.send = COPSE_IN_PLACE;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("scatter", "send=COPSE_IN_PLACE"));
  EXPECT_EQ(Plan(args, 2), COPSE_OK) << "not looked at";
  args = Lists(COPSE_COLL_ALLTOALLV);
  args.send = COPSE_IN_PLACE;
  args.send_counts = nullptr;
  ASSERT_EQ(Plan(args), COPSE_OK);
  EXPECT_EQ(plan_.send.bytes, 168u);
}

TEST_F(PlanBlocksTest, BlocksOfOneBufferMayLieBetweenThoseOfTheOther) {
  copse_coll_args_t args = Lists(COPSE_COLL_ALLTOALLV);
  args.mask |= COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS | COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
  args.send_displacements = args.recv_displacements = begins_;
  args.send = recv_ + 3;  // blocks are of 3, their begins 7 apart
  EXPECT_EQ(Plan(args), COPSE_OK) << LastError();
  args.send = recv_ + 2;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("COPSE_IN_PLACE", "bytes=168"));
  args.send = recv_ + 5;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("COPSE_IN_PLACE", "bytes=168"));
  args = Lists(COPSE_COLL_GATHERV);
  args.mask |= COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
  args.recv_displacements = begins_;
  args.send = recv_ + 4;
  EXPECT_EQ(Plan(args), COPSE_OK) << LastError();
  args.send = recv_ + 5;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("COPSE_IN_PLACE", "bytes=168"));
}

TEST_F(PlanBlocksTest, NullIsForWhatIsEmpty) {
  copse_coll_args_t args = Lists(COPSE_COLL_GATHERV, 5);
  args.count = 0;
  args.send = nullptr;
  EXPECT_EQ(Plan(args, 5), COPSE_OK) << LastError();
  args.recv = nullptr;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("buffer=receive", "bytes=168"), 5);
  for (uint64_t& count : counts_) count = 0;
  EXPECT_EQ(Plan(args, 5), COPSE_OK) << LastError();
  args = Blocks(COPSE_COLL_ALLTOALL);
  args.send = nullptr;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, Names("buffer=send", "count=3"));
}

TEST(DatatypeBytesTest, UnknownTypesHaveNone) {
  EXPECT_EQ(DatatypeBytes(COPSE_DT_LONG_INT), 16u);
  EXPECT_EQ(DatatypeBytes(static_cast<copse_datatype_t>(20)), 0u);
  EXPECT_EQ(DatatypeBytes(static_cast<copse_datatype_t>(-1)), 0u);
}

TEST(CollectiveNameTest, NamesAll) {
  EXPECT_STREQ(CollectiveName(COPSE_COLL_BARRIER), "barrier");
  EXPECT_STREQ(CollectiveName(COPSE_COLL_ALLREDUCE), "allreduce");
  EXPECT_STREQ(CollectiveName(static_cast<copse_collective_t>(99)), "unknown");
  EXPECT_STREQ(CollectiveName(static_cast<copse_collective_t>(-1)), "unknown");
}

}  // namespace
}  // namespace copse::client
