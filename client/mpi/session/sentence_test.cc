// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/sentence.h"

#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

TEST(SentenceTest, PartsStandOneBehindTheOther) {
  EXPECT_EQ(Sentence("calls=", uint64_t{1} << 60, ", saved=", -3L, std::string("%")),
            "calls=1152921504606846976, saved=-3%");
}

TEST(TimeTextTest, HasThreeDigits) {
  EXPECT_EQ(TimeText(uint64_t{0}), "0 us");
  EXPECT_EQ(TimeText(12'345.0), "12.3 us");
  EXPECT_EQ(TimeText(999'700.0), "1 ms");
  EXPECT_EQ(TimeText(601.4e6), "601 ms");
  EXPECT_EQ(TimeText(1.5e9), "1.5 s");
  EXPECT_EQ(TimeText(12'345e9), "12345 s");
}

}  // namespace
}  // namespace copse::mpi
