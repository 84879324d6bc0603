// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/collective_calls.h"

#include <cstring>
#include <vector>

#include "client/mpi/api/mpi_process.h"
#include "client/mpi/data/element_types.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

constexpr uint64_t kBytesMax = 1 << 20;
constexpr Membership kRoot{0, 4}, kOther{2, 4};

// How a call is described on a rank of four; no rank but this one exists.
class CollectiveCallsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { LoadElementTypes(); }

  // Describes a call. What it was before is gone.
  template <typename Call>
  Reason Prepare(const Call& call, const Membership& member, bool outlives_call = false, bool chooses_path = true) {
    offload_.emplace(OffloadOptions{MPI_COMM_SELF, kBytesMax, chooses_path}, outlives_call);
    return call.Prepare(member, &*offload_);
  }
  const copse_coll_args_t& args() const { return offload_->args; }

  // A call that the daemons make, with these arguments.
  template <typename Call>
  void Expect(const Call& call, const Membership& member, copse_collective_t collective, uint64_t count,
              const void* send, const void* recv) {
    ASSERT_EQ(Prepare(call, member), Reason::kNone);
    EXPECT_EQ(args().collective, collective);
    EXPECT_EQ(args().count, count);
    EXPECT_EQ(args().send, send);
    EXPECT_EQ(args().recv, recv);
  }
  template <typename Call>
  void ExpectBadArguments(const Call& call, const Membership& member) {
    EXPECT_EQ(Prepare(call, member), Reason::kBadArguments);
  }
  static std::vector<uint64_t> List(const uint64_t* numbers, size_t count = 4) { return {numbers, numbers + count}; }

  std::optional<Offload> offload_;
  int send_[64] = {}, recv_[64] = {};
  int counts_[4] = {1, 2, 0, 3}, displacements_[4] = {8, 0, 5, 2};
};

TEST_F(CollectiveCallsTest, BarrierHasNoData) {
  Expect(BarrierCall{MPI_COMM_NULL}, kRoot, COPSE_COLL_BARRIER, 0, nullptr, nullptr);
}

TEST_F(CollectiveCallsTest, BcastGoesFromTheRootsBufferIntoTheOthers) {
  Expect(BcastCall{send_, 3, MPI_INT, 1, {}}, kRoot, COPSE_COLL_BCAST, 12, nullptr, send_);
  EXPECT_EQ(args().root, 1u);
  EXPECT_EQ(offload_->known_bytes, 12u);
  EXPECT_TRUE(offload_->has_plain_buffers());
}

TEST_F(CollectiveCallsTest, BcastOfGapsIsPackedOnTheRootAndUnpackedElsewhere) {
  const NewType gaps(Vector(2, 1, 2, MPI_INT));
  send_[0] = 7, send_[1] = 8, send_[2] = 9;
  ASSERT_EQ(Prepare(BcastCall{send_, 1, gaps.get(), 0, {}}, kRoot), Reason::kNone);
  EXPECT_TRUE(offload_->has_plain_result());
  EXPECT_FALSE(offload_->has_plain_buffers());
  ASSERT_EQ(offload_->Pack(), COPSE_OK);
  EXPECT_EQ(static_cast<const int*>(args().recv)[1], 9);
  ASSERT_EQ(Prepare(BcastCall{recv_, 1, gaps.get(), 0, {}}, kOther), Reason::kNone);
  EXPECT_FALSE(offload_->has_plain_result());
  static_cast<int*>(args().recv)[0] = 5, static_cast<int*>(args().recv)[1] = 6;
  ASSERT_EQ(offload_->Unpack(), COPSE_OK);
  EXPECT_EQ(recv_[0], 5);
  EXPECT_EQ(recv_[1], 0);
  EXPECT_EQ(recv_[2], 6);
}

TEST_F(CollectiveCallsTest, BadArgumentsAreMpisToReport) {
  ExpectBadArguments(BcastCall{send_, -1, MPI_INT, 0, {}}, kRoot);
  ExpectBadArguments(BcastCall{send_, 1, MPI_INT, 4, {}}, kRoot);
  ExpectBadArguments(BcastCall{send_, 1, MPI_INT, -1, {}}, kRoot);
  ExpectBadArguments(BcastCall{nullptr, 1, MPI_INT, 0, {}}, kRoot);
  ExpectBadArguments(BcastCall{send_, 1, MPI_DATATYPE_NULL, 0, {}}, kRoot);
  EXPECT_EQ(Prepare(BcastCall{nullptr, 0, MPI_INT, 0, {}}, kRoot), Reason::kNone);
  ExpectBadArguments(GatherCall{send_, 1, MPI_INT, recv_, -1, MPI_INT, 0, {}}, kRoot);
  ExpectBadArguments(GatherCall{send_, -1, MPI_INT, recv_, 1, MPI_INT, 0, {}}, kOther);
  ExpectBadArguments(GatherCall{send_, 1, MPI_INT, recv_, 1, MPI_INT, 9, {}}, kOther);
  ExpectBadArguments(ScatterCall{send_, -1, MPI_INT, recv_, 1, MPI_INT, 0, {}}, kRoot);
  ExpectBadArguments(ScatterCall{send_, 1, MPI_INT, recv_, -1, MPI_INT, 0, {}}, kOther);
  ExpectBadArguments(AllgatherCall{send_, 1, MPI_INT, recv_, -1, MPI_INT, {}}, kRoot);
  ExpectBadArguments(AllgatherCall{send_, -1, MPI_INT, recv_, 1, MPI_INT, {}}, kRoot);
  ExpectBadArguments(AlltoallCall{send_, -1, MPI_INT, recv_, 1, MPI_INT, {}}, kRoot);
  ExpectBadArguments(AllreduceCall{send_, recv_, -1, MPI_INT, MPI_SUM, {}}, kRoot);
  ExpectBadArguments(AllreduceCall{send_, recv_, 1, MPI_INT, MPI_OP_NULL, {}}, kRoot);
  ExpectBadArguments(AllreduceCall{nullptr, recv_, 1, MPI_INT, MPI_SUM, {}}, kRoot);
  ExpectBadArguments(AllreduceCall{send_, nullptr, 1, MPI_INT, MPI_SUM, {}}, kRoot);
  ExpectBadArguments(ReduceCall{MPI_IN_PLACE, recv_, 1, MPI_INT, MPI_SUM, 0, {}}, kOther);
  ExpectBadArguments(ReduceCall{send_, recv_, 1, MPI_INT, MPI_SUM, 7, {}}, kOther);
}

TEST_F(CollectiveCallsTest, LongCallsGoToMpi) {
  const int64_t count = kBytesMax / sizeof(int);
  EXPECT_EQ(Prepare(BcastCall{send_, count, MPI_INT, 0, {}}, kRoot), Reason::kNone);
  EXPECT_EQ(Prepare(BcastCall{send_, count + 1, MPI_INT, 0, {}}, kRoot), Reason::kTooLong);
  EXPECT_EQ(Prepare(AllgatherCall{send_, count / 4, MPI_INT, recv_, count / 4, MPI_INT, {}}, kRoot), Reason::kNone);
  EXPECT_EQ(Prepare(AllgatherCall{send_, count, MPI_INT, recv_, count, MPI_INT, {}}, kRoot), Reason::kTooLong);
  EXPECT_EQ(Prepare(GatherCall{send_, count, MPI_INT, recv_, count, MPI_INT, 0, {}}, kOther), Reason::kTooLong);
  EXPECT_EQ(Prepare(ScatterCall{send_, count, MPI_INT, recv_, count, MPI_INT, 0, {}}, kOther), Reason::kTooLong);
  EXPECT_EQ(Prepare(AlltoallCall{send_, count, MPI_INT, recv_, count, MPI_INT, {}}, kOther), Reason::kTooLong);
  EXPECT_EQ(Prepare(AllreduceCall{send_, recv_, count + 1, MPI_INT, MPI_SUM, {}}, kOther), Reason::kTooLong);
  const int counts[] = {1, static_cast<int>(count), 1, 1};
  EXPECT_EQ(Prepare(AllgathervCall{send_, 1, MPI_INT, recv_, counts, displacements_, MPI_INT, {}}, kRoot),
            Reason::kTooLong);
}

TEST_F(CollectiveCallsTest, GatherReceivesOnTheRootOnly) {
  Expect(GatherCall{send_, 2, MPI_INT, recv_, 2, MPI_INT, 0, {}}, kRoot, COPSE_COLL_GATHER, 8, send_, recv_);
  Expect(GatherCall{send_, 2, MPI_INT, nullptr, -5, MPI_DATATYPE_NULL, 0, {}}, kOther, COPSE_COLL_GATHER, 8, send_,
         nullptr);
  Expect(GatherCall{MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv_, 2, MPI_INT, 0, {}}, kRoot, COPSE_COLL_GATHER, 8,
         COPSE_IN_PLACE, recv_);
}

TEST_F(CollectiveCallsTest, ScatterSendsOnTheRootOnly) {
  Expect(ScatterCall{send_, 2, MPI_INT, recv_, 2, MPI_INT, 0, {}}, kRoot, COPSE_COLL_SCATTER, 8, send_, recv_);
  Expect(ScatterCall{nullptr, -1, MPI_DATATYPE_NULL, recv_, 2, MPI_INT, 0, {}}, kOther, COPSE_COLL_SCATTER, 8, nullptr,
         recv_);
  Expect(ScatterCall{send_, 2, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, 0, {}}, kRoot, COPSE_COLL_SCATTER, 8, send_,
         COPSE_IN_PLACE);
}

TEST_F(CollectiveCallsTest, AllgatherAndAlltoallInPlaceSendWhatIsReceivedOver) {
  Expect(AllgatherCall{send_, 2, MPI_INT, recv_, 2, MPI_INT, {}}, kOther, COPSE_COLL_ALLGATHER, 8, send_, recv_);
  EXPECT_EQ(offload_->known_bytes, 32u);
  Expect(AllgatherCall{MPI_IN_PLACE, 0, MPI_INT, recv_, 2, MPI_INT, {}}, kOther, COPSE_COLL_ALLGATHER, 8,
         COPSE_IN_PLACE, recv_);
  Expect(AlltoallCall{send_, 2, MPI_INT, recv_, 2, MPI_INT, {}}, kOther, COPSE_COLL_ALLTOALL, 8, send_, recv_);
  Expect(AlltoallCall{MPI_IN_PLACE, 0, MPI_INT, recv_, 2, MPI_INT, {}}, kOther, COPSE_COLL_ALLTOALL, 8, COPSE_IN_PLACE,
         recv_);
}

// A block that has to be unpacked would be overwritten by itself, so it is sent as any other.
TEST_F(CollectiveCallsTest, InPlaceBlocksWithGapsAreSentAsOthers) {
  const NewType gaps(Vector(2, 1, 2, MPI_INT));
  recv_[6] = 3, recv_[8] = 4;  // rank 2's element of extent 3
  ASSERT_EQ(Prepare(AllgatherCall{MPI_IN_PLACE, 0, MPI_INT, recv_, 1, gaps.get(), {}}, kOther), Reason::kNone);
  ASSERT_EQ(offload_->Pack(), COPSE_OK);
  EXPECT_EQ(static_cast<const int*>(args().send)[0], 3);
  EXPECT_EQ(static_cast<const int*>(args().send)[1], 4);
  ASSERT_EQ(Prepare(AlltoallCall{MPI_IN_PLACE, 0, MPI_INT, recv_, 1, gaps.get(), {}}, kOther), Reason::kNone);
  ASSERT_EQ(offload_->Pack(), COPSE_OK);
  EXPECT_EQ(static_cast<const int*>(args().send)[4], 3);
  const int counts[] = {1, 1, 1, 1}, displacements[] = {0, 1, 2, 3};
  ASSERT_EQ(Prepare(AllgathervCall{MPI_IN_PLACE, 0, MPI_INT, recv_, counts, displacements, gaps.get(), {}}, kOther),
            Reason::kNone);
  ASSERT_EQ(offload_->Pack(), COPSE_OK);
  EXPECT_EQ(static_cast<const int*>(args().send)[1], 4);
  ASSERT_EQ(
      Prepare(AlltoallvCall{MPI_IN_PLACE, counts, displacements, MPI_INT, recv_, counts, displacements, gaps.get(), {}},
              kOther),
      Reason::kNone);
  EXPECT_NE(args().send, COPSE_IN_PLACE);
}

TEST_F(CollectiveCallsTest, BlocksCountFromTheOneNearestToTheFront) {
  Expect(GathervCall{send_, 1, MPI_INT, recv_, counts_, displacements_, MPI_INT, 0, {}}, kRoot, COPSE_COLL_GATHERV, 4,
         send_, recv_);
  EXPECT_EQ(List(args().recv_counts), (std::vector<uint64_t>{4, 8, 0, 12}));
  EXPECT_EQ(List(args().recv_displacements), (std::vector<uint64_t>{32, 0, 0, 8}));
  const int high[] = {8, 6, 5, 10};
  Expect(ScattervCall{send_, counts_, high, MPI_INT, recv_, 1, MPI_INT, 0, {}}, kRoot, COPSE_COLL_SCATTERV, 4,
         send_ + 6, recv_);
  EXPECT_EQ(List(args().send_displacements), (std::vector<uint64_t>{8, 0, 0, 16}));
}

TEST_F(CollectiveCallsTest, PackedBlocksLieOneAfterAnother) {
  const NewType gaps(Resized(MPI_INT, 0, 8));
  ASSERT_EQ(Prepare(GathervCall{send_, 1, MPI_INT, recv_, counts_, displacements_, gaps.get(), 0, {}}, kRoot),
            Reason::kNone);
  EXPECT_EQ(List(args().recv_displacements), (std::vector<uint64_t>{0, 4, 12, 12}));
  for (int i = 0; i < 6; ++i) static_cast<int*>(args().recv)[i] = i + 1;
  ASSERT_EQ(offload_->Unpack(), COPSE_OK);
  EXPECT_EQ(recv_[16], 1);  // rank 0's, at displacement 8
  EXPECT_EQ(recv_[0], 2);
  EXPECT_EQ(recv_[2], 3);
  EXPECT_EQ(recv_[4], 4);
}

TEST_F(CollectiveCallsTest, VectorCollectivesInPlace) {
  Expect(GathervCall{MPI_IN_PLACE, 0, MPI_INT, recv_, counts_, displacements_, MPI_INT, 0, {}}, kRoot,
         COPSE_COLL_GATHERV, 4, COPSE_IN_PLACE, recv_);
  Expect(ScattervCall{send_, counts_, displacements_, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, 0, {}}, kRoot,
         COPSE_COLL_SCATTERV, 4, send_, COPSE_IN_PLACE);
  Expect(AllgathervCall{MPI_IN_PLACE, 0, MPI_INT, recv_, counts_, displacements_, MPI_INT, {}}, {3, 4},
         COPSE_COLL_ALLGATHERV, 12, COPSE_IN_PLACE, recv_);
  Expect(AlltoallvCall{MPI_IN_PLACE, counts_, displacements_, MPI_INT, recv_, counts_, displacements_, MPI_INT, {}},
         kOther, COPSE_COLL_ALLTOALLV, 0, COPSE_IN_PLACE, recv_);
}

TEST_F(CollectiveCallsTest, VectorCollectivesOutOfPlace) {
  Expect(
      GathervCall{send_, 1, MPI_INT, nullptr, static_cast<int*>(nullptr), static_cast<int*>(nullptr), MPI_INT, 0, {}},
      kOther, COPSE_COLL_GATHERV, 4, send_, nullptr);
  Expect(AllgathervCall{send_, 1, MPI_INT, recv_, counts_, displacements_, MPI_INT, {}}, kRoot, COPSE_COLL_ALLGATHERV,
         4, send_, recv_);
  EXPECT_EQ(offload_->known_bytes, 24u);
  Expect(AlltoallvCall{send_, counts_, displacements_, MPI_INT, recv_, counts_, displacements_, MPI_INT, {}}, kRoot,
         COPSE_COLL_ALLTOALLV, 0, send_, recv_);
  const MPI_Datatype types[] = {MPI_INT, MPI_SHORT, MPI_INT, MPI_BYTE};
  ASSERT_EQ(
      Prepare(AlltoallwCall{send_, counts_, displacements_, types, recv_, counts_, displacements_, types, {}}, kRoot),
      Reason::kNone);
  EXPECT_EQ(List(args().send_counts), (std::vector<uint64_t>{4, 4, 0, 3}));
  EXPECT_EQ(List(args().send_displacements), (std::vector<uint64_t>{8, 0, 0, 2}));
}

TEST_F(CollectiveCallsTest, BadListsAreMpisToReport) {
  const int negative[] = {1, -1, 0, 0};
  const int* const none = nullptr;
  const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_INT, MPI_DATATYPE_NULL};
  ExpectBadArguments(GathervCall{send_, 1, MPI_INT, recv_, none, displacements_, MPI_INT, 0, {}}, kRoot);
  ExpectBadArguments(GathervCall{send_, 1, MPI_INT, recv_, counts_, displacements_, MPI_INT, 5, {}}, kRoot);
  ExpectBadArguments(ScattervCall{send_, negative, displacements_, MPI_INT, recv_, 1, MPI_INT, 0, {}}, kRoot);
  ExpectBadArguments(ScattervCall{send_, counts_, displacements_, MPI_INT, recv_, -1, MPI_INT, 0, {}}, kOther);
  ExpectBadArguments(AllgathervCall{send_, 1, MPI_INT, recv_, counts_, none, MPI_INT, {}}, kRoot);
  ExpectBadArguments(AllgathervCall{send_, -1, MPI_INT, recv_, counts_, displacements_, MPI_INT, {}}, kRoot);
  ExpectBadArguments(
      AlltoallvCall{send_, negative, displacements_, MPI_INT, recv_, counts_, displacements_, MPI_INT, {}}, kRoot);
  ExpectBadArguments(AlltoallwCall{send_, counts_, displacements_, types, recv_, counts_, displacements_, types, {}},
                     kRoot);
  ExpectBadArguments(
      AlltoallwCall{send_, counts_, displacements_, nullptr, recv_, counts_, displacements_, nullptr, {}}, kRoot);
  ExpectBadArguments(Reduce_scatterCall{send_, recv_, none, MPI_INT, MPI_SUM, {}}, kRoot);
  ExpectBadArguments(Reduce_scatterCall{send_, recv_, negative, MPI_INT, MPI_SUM, {}}, kRoot);
}

TEST_F(CollectiveCallsTest, CountsMayBeWide) {
  const int64_t counts[] = {1, 2, 0, 3}, displacements[] = {8, 0, 5, 2};
  ASSERT_EQ(Prepare(AllgathervCall{send_, 1, MPI_INT, recv_, counts, displacements, MPI_INT, {}}, kRoot),
            Reason::kNone);
  EXPECT_EQ(List(args().recv_counts), (std::vector<uint64_t>{4, 8, 0, 12}));
}

TEST_F(CollectiveCallsTest, ReductionsThatDaemonsHaveTravelAsElements) {
  Expect(ReduceCall{send_, recv_, 5, MPI_INT, MPI_MAX, 2, {}}, kRoot, COPSE_COLL_REDUCE, 5, send_, nullptr);
  EXPECT_EQ(args().type, COPSE_DT_INT32);
  EXPECT_EQ(args().op, COPSE_OP_MAX);
  EXPECT_EQ(args().root, 2u);
  Expect(ReduceCall{MPI_IN_PLACE, recv_, 5, MPI_INT, MPI_MAX, 2, {}}, kOther, COPSE_COLL_REDUCE, 5, COPSE_IN_PLACE,
         recv_);
  Expect(AllreduceCall{recv_, recv_, 5, MPI_INT, MPI_MAX, {}}, kOther, COPSE_COLL_ALLREDUCE, 5, COPSE_IN_PLACE, recv_);
  Expect(ScanCall{send_, recv_, 5, MPI_DOUBLE, MPI_SUM, {}}, kOther, COPSE_COLL_SCAN, 5, send_, recv_);
  EXPECT_TRUE(offload_->is_order_sensitive);
  Expect(ExscanCall{send_, recv_, 5, MPI_INT, MPI_SUM, {}}, kRoot, COPSE_COLL_EXSCAN, 5, send_, nullptr);
  Expect(ExscanCall{MPI_IN_PLACE, recv_, 5, MPI_INT, MPI_SUM, {}}, kRoot, COPSE_COLL_EXSCAN, 5, COPSE_IN_PLACE, recv_);
  Expect(Reduce_scatter_blockCall{send_, recv_, 3, MPI_INT, MPI_SUM, {}}, kOther, COPSE_COLL_REDUCE_SCATTER, 3, send_,
         recv_);
  EXPECT_EQ(offload_->known_bytes, 48u);
  ASSERT_EQ(Prepare(Reduce_scatterCall{send_, recv_, counts_, MPI_INT, MPI_SUM, {}}, kRoot), Reason::kNone);
  EXPECT_EQ(args().collective, COPSE_COLL_REDUCE_SCATTERV);
  EXPECT_EQ(List(args().recv_counts), (std::vector<uint64_t>{1, 2, 0, 3}));
  // Rank 2 receives nothing.
  ASSERT_EQ(Prepare(Reduce_scatterCall{send_, nullptr, counts_, MPI_INT, MPI_SUM, {}}, kOther), Reason::kNone);
  EXPECT_EQ(args().recv, nullptr);
}

TEST_F(CollectiveCallsTest, ShortFloatingSumsAreAddedUpInOrderOfRanks) {
  const AllreduceCall call{send_, recv_, 4, MPI_DOUBLE, MPI_SUM, {}};
  ASSERT_EQ(Prepare(call, kOther), Reason::kNone);
  EXPECT_TRUE(offload_->combines_in_order());
  EXPECT_EQ(args().collective, COPSE_COLL_ALLGATHER);
  EXPECT_EQ(args().count, 32u);
  EXPECT_FALSE(offload_->is_divisible());
  ASSERT_EQ(Prepare(ReduceCall{send_, recv_, 4, MPI_DOUBLE, MPI_SUM, 0, {}}, kOther), Reason::kNone);
  EXPECT_EQ(args().collective, COPSE_COLL_GATHER);
  EXPECT_EQ(args().recv, nullptr);
  // Not of two ranks, not where calls never go to MPI, not if the program's types may be freed, not long ones.
  ASSERT_EQ(Prepare(call, {0, 2}), Reason::kNone);
  EXPECT_FALSE(offload_->combines_in_order());
  ASSERT_EQ(Prepare(call, kOther, false, /*chooses_path=*/false), Reason::kNone);
  EXPECT_FALSE(offload_->combines_in_order());
  ASSERT_EQ(Prepare(call, kOther, /*outlives_call=*/true), Reason::kNone);
  EXPECT_FALSE(offload_->combines_in_order());
  ASSERT_EQ(Prepare(AllreduceCall{send_, recv_, 513, MPI_DOUBLE, MPI_SUM, {}}, kOther), Reason::kNone);
  EXPECT_FALSE(offload_->combines_in_order());
}

TEST_F(CollectiveCallsTest, MpiMakesSumsInOrderToo) {
  double value[] = {2.5, 4}, sum[2] = {};
  ASSERT_EQ(Prepare(AllreduceCall{value, sum, 2, MPI_DOUBLE, MPI_SUM, {}}, kRoot), Reason::kNone);
  // What four ranks have sent.
  auto* const contributions = static_cast<double*>(args().recv);
  for (int i = 0; i < 8; ++i) contributions[i] = i;
  ASSERT_EQ(offload_->Unpack(), COPSE_OK);
  EXPECT_EQ(sum[0], 0 + 2 + 4 + 6);
  EXPECT_EQ(sum[1], 1 + 3 + 5 + 7);
  offload_.emplace(OffloadOptions{MPI_COMM_SELF, kBytesMax, true}, false);
  offload_->args.collective = COPSE_COLL_ALLREDUCE;
  offload_->args.send = value;
  Datatype type;
  ASSERT_TRUE(Describe(MPI_DOUBLE, &type));
  offload_->CombineInOrder(MPI_SUM, type, 2, sum, 1);
  EXPECT_EQ(offload_->RunInOrderByMpi(MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(sum[0], 2.5);
  EXPECT_EQ(sum[1], 4);
}

void AddInts(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

TEST_F(CollectiveCallsTest, TheProgramsOperationsAreCombinedByTheRanks) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(AddInts, 1, &op);
  const AllreduceCall call{send_, recv_, 3, MPI_INT, op, {}};
  Expect(call, kOther, COPSE_COLL_ALLREDUCE, 12, send_, recv_);
  EXPECT_EQ(args().type, COPSE_DT_BYTE);
  EXPECT_FALSE(offload_->is_divisible());
  EXPECT_EQ(Prepare(AllreduceCall{MPI_IN_PLACE, recv_, 3, MPI_INT, op, {}}, kOther), Reason::kNone);
  EXPECT_EQ(args().send, COPSE_IN_PLACE);
  EXPECT_EQ(Prepare(call, kOther, /*outlives_call=*/true), Reason::kUserOperation);
  EXPECT_EQ(Prepare(AllreduceCall{send_, recv_, 20'000, MPI_INT, op, {}}, kOther), Reason::kUserOperation);
  EXPECT_EQ(Prepare(AllreduceCall{send_, recv_, 0, MPI_INT, op, {}}, kOther), Reason::kUserOperation);
  const NewType gaps(Resized(MPI_INT, 0, 8));
  EXPECT_EQ(Prepare(AllreduceCall{MPI_IN_PLACE, recv_, 3, gaps.get(), op, {}}, kOther), Reason::kNone);
  EXPECT_NE(args().send, COPSE_IN_PLACE);
  EXPECT_FALSE(offload_->has_plain_result());
  offload_.reset();
  MPI_Op_free(&op);
}

TEST_F(CollectiveCallsTest, OperationsOfMpiThatDaemonsDoNotHave) {
  EXPECT_EQ(Prepare(AllreduceCall{send_, recv_, 2, MPI_LONG_DOUBLE, MPI_SUM, {}}, kOther), Reason::kNone);
  EXPECT_EQ(args().type, COPSE_DT_BYTE);
  EXPECT_EQ(Prepare(AllreduceCall{send_, recv_, 20'000, MPI_LONG_DOUBLE, MPI_SUM, {}}, kOther), Reason::kType);
  EXPECT_EQ(Prepare(AllreduceCall{send_, recv_, 2, MPI_FLOAT, MPI_BAND, {}}, kOther), Reason::kType);
}

TEST_F(CollectiveCallsTest, ReasonsHaveNames) {
  for (int reason = 1; reason < static_cast<int>(Reason::kCount); ++reason) {
    EXPECT_STRNE(NameOf(static_cast<Reason>(reason)), "") << reason;
  }
  EXPECT_STREQ(NameOf(Reason::kNone), "");
}

TEST_F(CollectiveCallsTest, ACallThatLostItsDataOrCannotPackFails) {
  ASSERT_EQ(Prepare(BcastCall{send_, 1, MPI_INT, 0, {}}, kRoot), Reason::kNone);
  EXPECT_EQ(offload_->Lose("gone"), COPSE_ERR_CANCELED);
  EXPECT_EQ(offload_->error(), "gone");
}

}  // namespace
}  // namespace copse::mpi
