// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/late_failure.h"

#include <gtest/gtest.h>

#include <string>

namespace copse::tnbc {
namespace {

TEST(LateFailureTest, TheFirstOneIsKept) {
  EXPECT_STRNE(DescribeLateFailure(), "");
  NoteLateFailure("MPI_Bcast", "rank 2 lost");
  NoteLateFailure("MPI_Alltoall", "canceled");
  EXPECT_STREQ(DescribeLateFailure(), "MPI_Bcast: rank 2 lost");
}

}  // namespace
}  // namespace copse::tnbc
