// SPDX-License-Identifier: Apache-2.0
//
// Runs of unmodified MPI programs with libcopse-mpi.so in front of the MPI.
#ifndef COPSE_INTEGRATION_TESTS_MPI_MPI_JOB_H_
#define COPSE_INTEGRATION_TESTS_MPI_MPI_JOB_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/statistics_text.h"
#include "testbed/netns/mpi_launch.h"
#include "testbed/netns/test_network.h"

namespace copse::mpi_test {

using Words = std::vector<std::string>;

// What a job wrote, line by line, and how it ended.
struct MpiResult {
  int code = -1;  // of the launcher, or 128 plus a signal's number; -1: it did not end in time
  Words out;
  Words error;

  // Lines of standard error that have `words` in them.
  Words ErrorsWith(std::string_view words) const;
  std::string Text() const;  // all of it, for a test that failed
};

// On standard error, in one line.
inline void ExpectSaidOnce(const MpiResult& result, std::string_view words) {
  EXPECT_EQ(result.ErrorsWith(words).size(), 1u) << words << "\n" << result.Text();
}

// The path of a program or library of this tree by Bazel's name; what was not found is a test's failure.
std::string PathOf(const std::string& label);

// The lines of a file; of none if it cannot be read.
Words LinesOf(const std::string& path);

struct MpiRun {
  std::string library;  // "mpich", "openmpi"
  uint32_t ranks = 2;
  Words sockets;                                   // of the nodes' daemons; ranks are dealt to them
  const netns::TestNetwork* network = nullptr;     // or: ranks run on its nodes, and find the daemons by themselves
  bool preload = true;                             // of libcopse-mpi.so, in the ranks
  std::map<std::string, std::string> environment;  // of the ranks
  Words launcher_options;
  Words before_launcher;  // what runs the launcher
  Words command;
};

// Tests of `suite` run with each library, whose name is the parameter.
#define COPSE_BOTH_MPIS(suite)                                                 \
  INSTANTIATE_TEST_SUITE_P(Both, suite, ::testing::Values("mpich", "openmpi"), \
                           [](const auto& info) { return std::string(info.param); })

// In a campaign, tests do more of the same.
inline bool IsCampaign() { return std::getenv("COPSE_TEST_CAMPAIGN") != nullptr; }
inline std::vector<const char*> LibrariesOr(const char* one) {
  if (IsCampaign()) return {"mpich", "openmpi"};
  return {one};
}

// Tests of `suite`, in which the MPI makes no difference, run with `library` only; in a campaign with each.
#define COPSE_ONE_MPI(suite, library)                                                       \
  INSTANTIATE_TEST_SUITE_P(One, suite, ::testing::ValuesIn(mpi_test::LibrariesOr(library)), \
                           [](const auto& info) { return std::string(info.param); })

// Runs it to its end, but not longer than `timeout`. `folder` is for files of its own.
MpiResult RunMpi(const MpiRun& run, const std::string& folder, absl::Duration timeout);

// What --stats says, by MPI's name of the collective.
std::map<std::string, CollectiveCounts> ParseStatistics(const MpiResult& result);

}  // namespace copse::mpi_test

#endif  // COPSE_INTEGRATION_TESTS_MPI_MPI_JOB_H_
