// SPDX-License-Identifier: Apache-2.0

#include "client/arguments.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "client/error.h"

namespace copse::client {
namespace {

constexpr uint64_t kMessageBytesMax = 65536;

class PlanCallTest : public testing::Test {
 protected:
  copse_coll_args_t Allreduce() {
    copse_coll_args_t args{};
    args.collective = COPSE_COLL_ALLREDUCE;
    args.type = DoubleType();
    args.op = COPSE_OP_SUM;
    args.send = send_;
    args.recv = recv_;
    args.count = 4;
    return args;
  }
  copse_coll_args_t Reduce(uint32_t root) {
    copse_coll_args_t args = Allreduce();
    args.collective = COPSE_COLL_REDUCE;
    args.root = root;
    return args;
  }
  copse_coll_args_t Bcast(uint32_t root) {
    copse_coll_args_t args{};
    args.collective = COPSE_COLL_BCAST;
    args.type = DoubleType();
    args.recv = recv_;
    args.count = 4;
    args.root = root;
    return args;
  }
  static copse_datatype_t DoubleType() { return COPSE_DT_DOUBLE; }

  copse_status_t Plan(const copse_coll_args_t& args, uint32_t rank = 1) {
    return PlanCall(args, rank, 8, kMessageBytesMax, &plan_);
  }
  void ExpectError(const copse_coll_args_t& args, copse_status_t status, const std::string& text, uint32_t rank = 1) {
    EXPECT_EQ(Plan(args, rank), status);
    EXPECT_NE(std::string(LastError()).find(text), std::string::npos) << LastError();
  }

  double send_[8] = {};
  double recv_[8] = {};
  CallPlan plan_;
};

TEST_F(PlanCallTest, BarrierReadsNothingElse) {
  copse_coll_args_t args{};
  args.collective = COPSE_COLL_BARRIER;
  args.type = static_cast<copse_datatype_t>(77);
  args.op = static_cast<copse_op_t>(77);
  args.root = 77;
  args.count = UINT64_MAX;
  ASSERT_EQ(Plan(args), COPSE_OK);
  EXPECT_EQ(plan_.bytes, 0u);
  EXPECT_EQ(plan_.send, nullptr);
  EXPECT_EQ(plan_.receive, nullptr);
}

TEST_F(PlanCallTest, BcastGivesAtTheRootAndGetsElsewhere) {
  ASSERT_EQ(Plan(Bcast(1), 1), COPSE_OK);
  EXPECT_EQ(plan_.send, recv_);
  EXPECT_EQ(plan_.receive, nullptr);
  ASSERT_EQ(Plan(Bcast(1), 2), COPSE_OK);
  EXPECT_EQ(plan_.send, nullptr);
  EXPECT_EQ(plan_.receive, recv_);
}

TEST_F(PlanCallTest, BcastTakesItsBufferAsSendToo) {
  copse_coll_args_t args = Bcast(1);
  for (const void* send : {static_cast<const void*>(recv_), static_cast<const void*>(COPSE_IN_PLACE)}) {
    args.send = send;
    EXPECT_EQ(Plan(args), COPSE_OK);
  }
  args.send = send_;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "bcast has one buffer");
}

TEST_F(PlanCallTest, ReduceReceivesAtTheRootOnly) {
  ASSERT_EQ(Plan(Reduce(1), 1), COPSE_OK);
  EXPECT_EQ(plan_.receive, recv_);
  copse_coll_args_t args = Reduce(1);
  args.recv = nullptr;
  ASSERT_EQ(Plan(args, 2), COPSE_OK);
  EXPECT_EQ(plan_.send, send_);
  EXPECT_EQ(plan_.receive, nullptr);
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "the receive buffer is NULL (count=4)", 1);
}

TEST_F(PlanCallTest, InPlaceForAllreduceAndTheRootOfAReduce) {
  copse_coll_args_t args = Allreduce();
  args.send = COPSE_IN_PLACE;
  ASSERT_EQ(Plan(args), COPSE_OK);
  EXPECT_EQ(plan_.send, recv_);
  EXPECT_EQ(plan_.receive, recv_);
  args = Reduce(1);
  args.send = COPSE_IN_PLACE;
  ASSERT_EQ(Plan(args, 1), COPSE_OK);
  EXPECT_EQ(plan_.send, recv_);
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "only the root reduces in place (rank=2, root=1)", 2);
  args = Allreduce();
  args.recv = COPSE_IN_PLACE;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "it stands for the send buffer");
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
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "the send buffer is NULL (count=4)");
  args = Allreduce();
  args.recv = nullptr;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "the receive buffer is NULL (count=4)");
  args = Bcast(1);
  args.recv = nullptr;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "the bcast buffer is NULL (count=4)");
}

TEST_F(PlanCallTest, RootMustBeAMember) {
  ExpectError(Reduce(9), COPSE_ERR_INVALID_ARGUMENT, "no such root (root=9, size=8)");
  ExpectError(Bcast(8), COPSE_ERR_INVALID_ARGUMENT, "no such root (root=8, size=8)");
}

TEST_F(PlanCallTest, UnknownValuesAreRefused) {
  copse_coll_args_t args = Allreduce();
  for (const int value : {-1, 20, 1 << 30}) {
    args.type = static_cast<copse_datatype_t>(value);
    ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "unknown datatype (type=" + std::to_string(value) + ", limit=19)");
  }
  args = Allreduce();
  for (const int value : {-1, 12}) {
    args.op = static_cast<copse_op_t>(value);
    ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "unknown operation (op=" + std::to_string(value) + ", limit=11)");
  }
  for (const int value : {-1, 4}) {
    args.collective = static_cast<copse_collective_t>(value);
    ExpectError(args, COPSE_ERR_INVALID_ARGUMENT,
                "unknown collective (collective=" + std::to_string(value) + ", limit=3)");
  }
  args = Allreduce();
  args.mask = 4;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "unknown fields in copse_coll_args_t (mask=0x4");
}

TEST_F(PlanCallTest, OperationsMustBeDefinedOnTheType) {
  copse_coll_args_t args = Allreduce();
  args.count = 2;  // no type has more bytes than two doubles
  const auto with = [&](copse_op_t op, copse_datatype_t type) {
    args.op = op;
    args.type = type;
    return args;
  };
  const std::string error = "the operation is not defined on the type ";
  ExpectError(with(COPSE_OP_BAND, COPSE_DT_DOUBLE), COPSE_ERR_INVALID_ARGUMENT, error + "(op=band, type=double)");
  ExpectError(with(COPSE_OP_BXOR, COPSE_DT_HALF), COPSE_ERR_INVALID_ARGUMENT, error + "(op=bxor, type=half)");
  ExpectError(with(COPSE_OP_MAX, COPSE_DT_COMPLEX_FLOAT), COPSE_ERR_INVALID_ARGUMENT,
              error + "(op=max, type=complex_float)");
  ExpectError(with(COPSE_OP_SUM, COPSE_DT_BYTE), COPSE_ERR_INVALID_ARGUMENT, error + "(op=sum, type=byte)");
  ExpectError(with(COPSE_OP_MIN, COPSE_DT_2INT), COPSE_ERR_INVALID_ARGUMENT, error + "(op=min, type=2int)");
  ExpectError(with(COPSE_OP_MINLOC, COPSE_DT_INT32), COPSE_ERR_INVALID_ARGUMENT, error + "(op=minloc, type=int32)");
  EXPECT_EQ(Plan(with(COPSE_OP_BXOR, COPSE_DT_UINT64)), COPSE_OK);
  EXPECT_EQ(Plan(with(COPSE_OP_BOR, COPSE_DT_BYTE)), COPSE_OK);
  EXPECT_EQ(Plan(with(COPSE_OP_PROD, COPSE_DT_COMPLEX_DOUBLE)), COPSE_OK);
  EXPECT_EQ(Plan(with(COPSE_OP_MAXLOC, COPSE_DT_DOUBLE_INT)), COPSE_OK);
  EXPECT_EQ(Plan(with(COPSE_OP_LAND, COPSE_DT_FLOAT)), COPSE_OK);
}

TEST_F(PlanCallTest, OverlapIsRefused) {
  copse_coll_args_t args = Allreduce();
  args.send = args.recv;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "the buffers overlap");
  args.send = recv_ + 3;
  ExpectError(args, COPSE_ERR_INVALID_ARGUMENT, "the buffers overlap");
  args.send = recv_ + 4;
  EXPECT_EQ(Plan(args), COPSE_OK);
}

TEST_F(PlanCallTest, LongMessagesAreNotSupportedYet) {
  copse_coll_args_t args = Bcast(1);
  args.count = kMessageBytesMax / sizeof(double);
  EXPECT_EQ(Plan(args), COPSE_OK);
  args.count += 1;
  ExpectError(args, COPSE_ERR_NOT_SUPPORTED, "(count=8193, type_bytes=8, limit=65536 bytes)");
  args.count = UINT64_MAX;  // times 8 is small modulo 2^64
  ExpectError(args, COPSE_ERR_NOT_SUPPORTED, "the message is too long");
}

TEST(DatatypeBytesTest, KnowsEveryType) {
  const uint32_t bytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2, 8, 16, 1, 8, 16, 16, 8, 8};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(DatatypeBytes(static_cast<copse_datatype_t>(i)), bytes[i]);
  EXPECT_EQ(DatatypeBytes(static_cast<copse_datatype_t>(20)), 0u);
  EXPECT_EQ(DatatypeBytes(static_cast<copse_datatype_t>(-1)), 0u);
}

TEST(CollectiveNameTest, NamesAll) {
  EXPECT_STREQ(CollectiveName(COPSE_COLL_BARRIER), "barrier");
  EXPECT_STREQ(CollectiveName(COPSE_COLL_ALLREDUCE), "allreduce");
  EXPECT_STREQ(CollectiveName(static_cast<copse_collective_t>(99)), "unknown");
}

}  // namespace
}  // namespace copse::client
