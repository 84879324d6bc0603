// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/sim.h"

#include <fstream>
#include <sstream>

#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "cli/sim/call_sim.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::simcli {
namespace {

using ::testing::HasSubstr;
using testing::Names;

TEST(SimTest, HelpNamesEveryVerb) {
  const Answer outcome = CallSim({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const Verb& verb : AllVerbs()) {
    EXPECT_THAT(outcome.out, HasSubstr("\n  " + verb.name + " "));
    EXPECT_THAT(CallSim({verb.name, "--help"}).out, HasSubstr(verb.help));
  }
}

TEST(SimTest, SaysItsVersion) { EXPECT_EQ(CallSim({"--version"}).out, std::string("copse-sim ") + kVersion + "\n"); }

TEST(SimTest, BadUsageIsOneLineAndTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"bogus"}, {"golden"}, {"golden", "--bogus", "x"}}) {
    const Answer outcome = CallSim(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.rfind("copse-sim: usage: ", 0), 0u) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
  EXPECT_THAT(CallSim({"bogus"}).err, Names("argument=bogus"));
}

TEST(SimTest, GoldenRefusesWhatIsNoFile) {
  const Answer outcome = CallSim({"golden", "/nonexistent/g.json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, Names("copse-sim: golden", "file=/nonexistent/g.json"));
}

TEST(SimTest, GoldenRefusesWhatIsNoVector) {
  const std::string file = ::testing::TempDir() + "/no_vector.json";
  std::ofstream(file) << "{\"m\": 1}";
  const Answer outcome = CallSim({"golden", file});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, Names("tree.parent", "value=null"));
}

constexpr char kVector[] = "planner/algorithms/testdata/g00_P5_m1024.json";

TEST(SimTest, GoldenCountsComparisons) {
  const Answer outcome = CallSim({"golden", kVector, kVector});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "24 passed, 0 failed\n");
}

TEST(SimTest, GoldenNamesWhatDiffers) {
  std::ifstream stream(kVector);
  std::stringstream text;
  text << stream.rdbuf();
  std::string changed = text.str();
  const size_t at = changed.find("271844535");  // FT's time
  ASSERT_NE(at, std::string::npos);
  changed[at] = '3';
  const std::string file = ::testing::TempDir() + "/changed.json";
  std::ofstream(file) << changed;
  const Answer outcome = CallSim({"golden", file});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out,
            file + ": FT: another completion time (ns=271844535, wanted=371844535)\n" + "11 passed, 1 failed\n");
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace copse::simcli
