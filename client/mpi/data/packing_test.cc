// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/data/packing.h"

#include <numeric>
#include <vector>

#include "client/mpi/api/mpi_process.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

class PackingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { LoadElementTypes(); }

  static Datatype Described(MPI_Datatype handle) {
    Datatype type;
    EXPECT_TRUE(Describe(handle, &type));
    return type;
  }
  // Packs, unpacks into zeros, and returns these.
  static std::vector<int> ThereAndBack(const std::vector<int>& from, int64_t count, const Datatype& type,
                                       size_t first) {
    std::vector<char> bytes(static_cast<size_t>(count) * type.bytes + 1);
    std::vector<int> to(from.size());
    EXPECT_TRUE(Pack(reinterpret_cast<const char*>(&from[first]), count, type, bytes.data(), MPI_COMM_SELF));
    EXPECT_TRUE(Unpack(bytes.data(), reinterpret_cast<char*>(&to[first]), count, type, MPI_COMM_SELF));
    return to;
  }
};

TEST_F(PackingTest, OnlyWhatTheTypeCoversTravels) {
  const NewType type(Vector(2, 1, 2, MPI_INT));  // ints 0 and 2; extent 3
  std::vector<int> from(6);
  std::iota(from.begin(), from.end(), 1);
  EXPECT_EQ(ThereAndBack(from, 2, Described(type.get()), 0), (std::vector<int>{1, 0, 3, 4, 0, 6}));
}

TEST_F(PackingTest, ElementsMayLieBackwards) {
  const NewType type(Resized(MPI_INT, 0, -static_cast<MPI_Aint>(sizeof(int))));
  const std::vector<int> from{1, 2, 3, 4};
  EXPECT_EQ(ThereAndBack(from, 3, Described(type.get()), 3), (std::vector<int>{0, 2, 3, 4}));
}

TEST_F(PackingTest, TypesMayHoldAddresses) {
  int from = 42, to = 0;
  MPI_Aint from_at = 0, to_at = 0;
  MPI_Get_address(&from, &from_at);
  MPI_Get_address(&to, &to_at);
  MPI_Datatype there = MPI_DATATYPE_NULL, back = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed_block(1, 1, &from_at, MPI_INT, &there);
  MPI_Type_create_hindexed_block(1, 1, &to_at, MPI_INT, &back);
  const NewType source(there), target(back);
  char bytes[sizeof(int)];
  EXPECT_TRUE(Pack(static_cast<const char*>(MPI_BOTTOM), 1, Described(source.get()), bytes, MPI_COMM_SELF));
  EXPECT_TRUE(Unpack(bytes, static_cast<char*>(MPI_BOTTOM), 1, Described(target.get()), MPI_COMM_SELF));
  EXPECT_EQ(to, 42);
}

TEST_F(PackingTest, NothingIsPackedWithoutBytesOrElements) {
  const NewType empty(Contiguous(0, MPI_INT));
  EXPECT_TRUE(Pack(nullptr, 5, Described(empty.get()), nullptr, MPI_COMM_SELF));
  EXPECT_TRUE(Unpack(nullptr, nullptr, 0, Described(MPI_INT), MPI_COMM_SELF));
}

TEST_F(PackingTest, ARefusalOfMpiIsReported) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Datatype uncommitted = Vector(2, 1, 2, MPI_INT);
  Datatype type = Described(MPI_INT);
  type.handle = uncommitted;
  int from[4] = {};
  char bytes[sizeof(from)];
  EXPECT_FALSE(Pack(reinterpret_cast<const char*>(from), 1, type, bytes, comm));
  EXPECT_FALSE(Unpack(bytes, reinterpret_cast<char*>(from), 1, type, comm));
  MPI_Type_free(&uncommitted);
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace copse::mpi
