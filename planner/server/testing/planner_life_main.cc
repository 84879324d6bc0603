// SPDX-License-Identifier: Apache-2.0
//
// Main function of tests that run a planner in their process.

#include "gtest/gtest.h"
#include "planner/server/planner_process.h"

int main(int argc, char** argv) {
  copse::planner::BlockSignals();  // before gRPC starts threads
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
