// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/pending_memory.h"

#include <unistd.h>

#include <cstdint>
#include <span>

#include "client/mpi/api/mpi_process.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/testing/test_pages.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

class MemoryOfTest : public testing::Test {
 protected:
  uintptr_t At(int index) const { return reinterpret_cast<uintptr_t>(&ints_[index]); }
  void Expect(int64_t count, MPI_Datatype type, int first, int begin, int end) const {
    const tnbc::Range range = MemoryOf(&ints_[first], count, type);
    EXPECT_EQ(range.begin, At(begin));
    EXPECT_EQ(range.end, At(end));
  }

  int ints_[32] = {};
};

TEST_F(MemoryOfTest, ElementsLieOneAfterAnother) {
  Expect(1, MPI_INT, 3, 3, 4);
  Expect(5, MPI_INT, 3, 3, 8);
}

TEST_F(MemoryOfTest, GapsBetweenElementsAreCoveredAndThoseBehindAreNot) {
  const NewType gaps(Vector(2, 1, 2, MPI_INT)), wide(Resized(MPI_INT, 0, 16));
  Expect(2, gaps.get(), 0, 0, 6);
  Expect(3, wide.get(), 0, 0, 9);
}

TEST_F(MemoryOfTest, ElementsMayLieBackwardsOrBeforeTheAddress) {
  const NewType back(Resized(MPI_INT, 0, -4));
  Expect(3, back.get(), 10, 8, 11);
  const int before = -2, one = 1;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_indexed(1, &one, &before, MPI_INT, &made);
  const NewType shifted(made);
  Expect(1, shifted.get(), 10, 8, 9);
}

TEST_F(MemoryOfTest, NothingCoversNothing) {
  const NewType empty(Contiguous(0, MPI_INT));
  for (const tnbc::Range& range :
       {MemoryOf(ints_, 0, MPI_INT), MemoryOf(ints_, -1, MPI_INT), MemoryOf(ints_, 1, MPI_DATATYPE_NULL),
        MemoryOf(MPI_IN_PLACE, 1, MPI_INT), MemoryOf(ints_, 4, empty.get())}) {
    EXPECT_EQ(range.bytes(), 0u);
  }
}

TEST_F(MemoryOfTest, WithoutPageProtectionNothingIsPending) {
  EXPECT_EQ(ThePageGuard(), nullptr);
  EXPECT_FALSE(AnyPending());
  EXPECT_TRUE(AwaitEverything());
  EXPECT_TRUE(AwaitEverythingInCall());
  EXPECT_TRUE(AwaitMessage(ints_, 1, MPI_INT));
  EXPECT_TRUE(AwaitRange({At(0), At(1)}));
  TurnWhileWaiting();
}

TEST(AwaitRangeTest, OneByteOfLostMemoryIsNotThere) {
  const char* why = "";
  tnbc::PageGuard* const guard = tnbc::PageGuard::Start({[](uintptr_t) { _exit(3); }, [] {}}, &why);
  ASSERT_NE(guard, nullptr) << why;
  SetPageGuard(guard);
  const tnbc::Pages page(1);
  const tnbc::Range all = page.All();
  ASSERT_TRUE(guard->Protect(std::span(&all, 1)));
  guard->MarkLost(all);
  EXPECT_TRUE(AwaitRange({all.begin, all.begin}));
  EXPECT_FALSE(AwaitRange({all.begin, all.begin + 1}));
  EXPECT_FALSE(AwaitMessage(page.data() + 1, 1, MPI_BYTE));
  guard->Release(all);
  EXPECT_TRUE(AwaitRange(all));
  SetPageGuard(nullptr);
}

}  // namespace
}  // namespace copse::mpi
