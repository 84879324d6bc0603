// SPDX-License-Identifier: Apache-2.0
//
// Random MPI programs (random_program.c): what they receive on Copse is what they receive on their MPI alone. Five
// seeds are a test, so that --gtest_filter runs them again. COPSE_RANDOM_PROGRAM_SEEDS: how many, instead of 5.
// COPSE_RANDOM_PROGRAM_TOUCH: the programs look late at what blocking calls brought, which may return early.
// Open MPI alone may not get to the end of one of them, which is then not run on Copse (random_program.h). An MPI alone
// may fail on one of them by a fault of its own; then it has to go through on Copse, which has nothing to be compared
// to.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"

namespace copse::mpi_test {
namespace {

// Limits of one program, which takes seconds.
constexpr absl::Duration kProgramPatience = absl::Minutes(2), kPatienceAlone = absl::Minutes(1);
constexpr uint32_t kRandomNodes = 3;
constexpr int kSeedsOfATest = 5;
constexpr char kUnended[] = "not_ended_by_mpi_alone", kFailed[] = "failed_by_mpi_alone";
// This many seeds of a test may fail: MPICH 4.0 truncates messages of pairs, Open MPI 4.1 those of its non-blocking
// calls.
constexpr int kFailedMax = 1;

int UnendedMax(const std::string& library) { return library == "openmpi" ? 1 : 0; }

int SeedsWanted() {
  int seeds = 5;
  const char* const text = std::getenv("COPSE_RANDOM_PROGRAM_SEEDS");
  if (text != nullptr && !absl::SimpleAtoi(text, &seeds)) seeds = 0;
  return seeds;
}

class RandomProgramTest : public MpiTest<std::tuple<const char*, int>> {
 protected:
  RandomProgramTest() : MpiTest(kRandomNodes) {}
};

TEST_P(RandomProgramTest, ReceivesWhatItReceivesByMpiAlone) {
  const std::string library = std::get<0>(GetParam());
  const char* const touch = std::getenv("COPSE_RANDOM_PROGRAM_TOUCH");
  const bool touches = touch != nullptr && *touch != '\0';
  uint64_t offloaded = 0;
  int unended = 0, failed = 0;
  const int first = std::get<1>(GetParam()) * kSeedsOfATest + 1;
  for (int seed = first; seed < first + kSeedsOfATest && !HasFailure(); ++seed) {
    MpiRun run = {.library = library, .ranks = 2 + static_cast<uint32_t>(seed) % 4, .sockets = Sockets()};
    run.command = {PathOf(absl::StrCat("integration_tests/mpi/random/random_program_", library)), absl::StrCat(seed)};
    if (touches) run.command.insert(run.command.end(), {"80", "touch"});
    SCOPED_TRACE(absl::StrCat("random_program_", library, " ", seed, " on ", run.ranks, " ranks"));
    run.preload = false;
    const MpiResult alone = Run(run, kPatienceAlone);
    if (alone.code < 0 && ++unended <= UnendedMax(library)) {
      RecordProperty(kUnended, seed);
      std::cout << kUnended << ": random_program_" << library << " " << seed << " on " << run.ranks << " ranks\n";
      continue;
    }
    const bool is_compared = alone.code <= 0 || ++failed > kFailedMax;
    if (is_compared) {
      EXPECT_EQ(alone.code, 0) << alone.Text();
    } else {
      RecordProperty(kFailed, seed);
      std::cout << kFailed << ": random_program_" << library << " " << seed << " on " << run.ranks << " ranks\n";
    }
    run.preload = true;
    run.environment = {{"COPSE_MPI_STATS", "1"}, {"COPSE_MPI_CALLS_BEFORE", absl::StrCat(seed % 3)}};
    if (seed % 2 == 0 || touches) run.environment["COPSE_MPI_OFFLOAD"] = "all";
    if (touches) run.environment["COPSE_TNBC"] = "on";
    const MpiResult result = Run(run, kProgramPatience);
    EXPECT_EQ(result.code, 0) << result.Text();
    EXPECT_EQ(result.out.size(), 1u) << result.Text();
    if (is_compared) {
      EXPECT_EQ(result.out, alone.out) << result.Text();
    }
    for (const auto& [collective, counts] : ParseStatistics(result)) offloaded += counts.offloaded;
  }
  EXPECT_GT(offloaded, 100u);
}

INSTANTIATE_TEST_SUITE_P(Both, RandomProgramTest,
                         testing::Combine(testing::Values("mpich", "openmpi"),
                                          testing::Range(0, SeedsWanted() / kSeedsOfATest)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param), "_", std::get<1>(info.param));
                         });

}  // namespace
}  // namespace copse::mpi_test
