// SPDX-License-Identifier: Apache-2.0
//
// MPIs with MPICH's binary interface are offloaded, whatever they say about themselves; those that differ run alone.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"

namespace copse::mpi_test {
namespace {

using copse::testing::Names;

class FamilyTest : public ShimTest {
 protected:
  // Runs a program on an MPI that differs from MPICH in `difference`.
  MpiResult RunOn(const std::string& library, const std::string& difference) {
    MpiRun run = JobOf(2, "situations", {"kinds_of_calls"});
    run.preload = false;
    run.environment["LD_PRELOAD"] =
        absl::StrCat(PathOf("client/mpi/libcopse-mpi.so"), ":", PathOf("integration_tests/mpi/" + library));
    run.environment["OTHER_MPICH"] = difference;
    return ExpectDone(Run(run));
  }
  template <class... Things>
  void ExpectRefused(const std::string& library, const std::string& difference, const Things&... things) {
    const MpiResult result = RunOn(library, difference);
    const Words said = result.ErrorsWith("copse-mpi: ");
    ASSERT_EQ(said.size(), 1u) << difference << "\n" << result.Text();
    EXPECT_THAT(said[0], Names(things..., "version=Intel(R) MPI Library 2021.13 for Linux* OS")) << difference;
  }
};

TEST_P(FamilyTest, AnMpiWithTheInterfaceOfMpichIsOffloadedUnderItsOwnVersion) {
  const MpiResult result = RunOn("libother_mpich.so", "");
  EXPECT_GT(ParseStatistics(result)["MPI_Allreduce"].offloaded, 0u) << result.Text();
}

TEST_P(FamilyTest, AnotherSonameIsRefused) { ExpectRefused("libother_mpich_13.so", "", "soname=libmpi.so.13"); }

TEST_P(FamilyTest, HandlesThatDifferAreRefused) {
  ExpectRefused("libother_mpich.so", "info", "MPI_INFO_NULL", "value=0x00000100", "wanted=0x1c000000");
  ExpectRefused("libother_mpich.so", "null", "MPI_COMM_NULL", "value=0x00000100", "wanted=0x04000000");
  ExpectRefused("libother_mpich.so", "world", "MPI_COMM_WORLD", "wanted=0x44000000");
  ExpectRefused("libother_mpich.so", "type", "MPI_DOUBLE", "wanted=0x4c00080b");
}

TEST_P(FamilyTest, AStatusThatDiffersIsRefused) {
  ExpectRefused("libother_mpich.so", "status", "MPI_Status", "bytes=32", "wanted=20");
  ExpectRefused("libother_mpich.so", "members", "MPI_Status", "MPI_SOURCE=-1", "MPI_TAG=-2", "soname=libmpi.so.12");
}

INSTANTIATE_TEST_SUITE_P(Mpich, FamilyTest, ::testing::Values("mpich"));

}  // namespace
}  // namespace copse::mpi_test
