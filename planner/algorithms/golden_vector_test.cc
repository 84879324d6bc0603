// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/golden_vector.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using testing::FailsWith;
using ::testing::IsEmpty;
using testing::Names;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

constexpr char kFolder[] = "planner/algorithms/testdata/";

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Read(const std::string& name) {
  std::ifstream stream(kFolder + name);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string Replaced(std::string text, const std::string& old_part, const std::string& new_part) {
  const size_t at = text.find(old_part);
  EXPECT_NE(at, std::string::npos) << old_part;
  return text.replace(at, old_part.size(), new_part);
}

TEST(GoldenVectorTest, EveryVectorIsMet) {
  const std::vector<std::string> files = Files();
  ASSERT_EQ(files.size(), 14u);
  uint32_t passed = 0;
  for (const std::string& file : files) {
    const auto vector = ParseGoldenVector(Read(file));
    ASSERT_TRUE(vector.ok()) << file << ": " << vector.status();
    const GoldenComparison comparison = CompareWithGolden(*vector);
    EXPECT_THAT(comparison.failed, IsEmpty()) << file;
    passed += comparison.passed;
  }
  EXPECT_EQ(passed, 14u * 12);
}

TEST(GoldenVectorTest, DifferencesAreNamed) {
  const std::string text = Read("g00_P5_m1024.json");
  const auto failed = [](const std::string& changed) {
    const auto vector = ParseGoldenVector(changed).value();
    return CompareWithGolden(vector).failed;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(failed(Replaced(text, "[[2,3],[2,4],[2,0],[2,1]]", "[[2,4],[2,3],[2,0],[2,1]]")),
              ElementsAre(Names("FT", "differs=2")));
  EXPECT_THAT(failed(Replaced(text, "\"phase1_edges\":4", "\"phase1_edges\":3")),
              ElementsAre(Names("MGO", "edges=4", "wanted=3")));
  EXPECT_THAT(failed(Replaced(text, "92488727", "92488728")), ElementsAre(Names("MGO")));
  EXPECT_THAT(failed(Replaced(text, "\"FT\"", "\"bogus\"")), ElementsAre(Names("bogus", "algorithm", "name=bogus")));
  EXPECT_THAT(failed(Replaced(text, "\"lower_bound_ns\":261849096", "\"lower_bound_ns\":261849097")),
              ElementsAre(Names("MGO_jackson", "least=261849097"), Names("OPTIMAL", "least=261849097")));
  EXPECT_THAT(
      failed(Replaced(Replaced(text, "\"OPTIMAL\"", "\"MGO_localsearch_reference_only\""),
                      "\"done_ns\":261849096,\"edges\":[[2,4],[2,0]", "\"done_ns\":2000,\"edges\":[[2,4],[2,0]")),
      ElementsAre(Names("reference=2000"), Names("reached=2000")));
}

TEST(GoldenVectorTest, RefusesWhatIsNone) {
  const std::string text = Read("g00_P5_m1024.json");
  const auto error = [](const std::string& changed) { return ParseGoldenVector(changed).status(); };
  EXPECT_THAT(error(""), FailsWith(kInvalid, "bytes=0"));
  EXPECT_THAT(error(text.substr(0, 500)), FailsWith(kInvalid, "bytes=500"));
  EXPECT_THAT(error("[1]"), FailsWith(kInvalid, "bytes=3"));
  EXPECT_THAT(error("{}"), FailsWith(kInvalid, "m", "value=null"));
  EXPECT_THAT(error(Replaced(text, "\"root\":2", "\"root\":5")), FailsWith(kInvalid, "root", "value=5"));
  EXPECT_THAT(error(Replaced(text, "\"P\":5", "\"P\":6")), FailsWith(kInvalid, "P", "value=6"));
  EXPECT_THAT(error(Replaced(text, "\"m\":1024", "\"m\":1.5")), FailsWith(kInvalid, "m", "value=1.5"));
  EXPECT_THAT(error(Replaced(text, "\"m\":1024", "\"m\":18446744073709551615")),
              FailsWith(kInvalid, "message", "bytes=9223372036854775807", "limit=8589934592"));
  EXPECT_THAT(error(Replaced(text, "[8,8,8,9,10,-1,", "[8,8,8,9,10,7,")),
              FailsWith(kInvalid, "tree", "vertices=11", "order=9"));
  EXPECT_THAT(error(Replaced(text, "[8,8,8,9,10,-1,", "[3,8,8,9,10,-1,")),
              FailsWith(kInvalid, "tree", "parent=3", "switches=5-11"));
  EXPECT_THAT(error(Replaced(text, "\"o_ns\":[1193610", "\"o_ns\":[-1")), FailsWith(kInvalid, "o_ns", "value=-1"));
  EXPECT_THAT(error(Replaced(text, "[[2,3],[2,4]", "[[2,3],[2,5]")),
              FailsWith(kInvalid, "FT.edges", "edge=[2,5]", "nodes=5"));
  EXPECT_THAT(error(Replaced(text, "[[2,3],[2,4]", "[[2,3],[2]")),
              FailsWith(kInvalid, "FT.edges", "edge=[2]", "nodes=5"));
  EXPECT_THAT(error(Replaced(text, "\"edges\":[[2,3],[2,4],[2,0],[2,1]]", "\"edges\":7")),
              FailsWith(kInvalid, "FT.edges", "value=7"));
  EXPECT_THAT(error(Replaced(text, "\"result\":{", "\"result\":{\"x\":1,")),
              FailsWith(kInvalid, "x.done_ns", "value=null"));
}

}  // namespace
}  // namespace copse::planner
