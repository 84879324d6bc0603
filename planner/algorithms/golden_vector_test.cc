// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/golden_vector.h"

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFolder[] = "planner/algorithms/testdata/";

std::vector<std::string> Files() {
  std::vector<std::string> files;
  DIR* const folder = opendir(kFolder);
  while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder)) {
    const std::string name = entry->d_name;
    if (name.size() > 5 && name.substr(name.size() - 5) == ".json") files.push_back(name);
  }
  if (folder != nullptr) closedir(folder);
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
    const auto vector = ParseGoldenVector(changed);
    EXPECT_TRUE(vector.ok()) << vector.status();
    return CompareWithGolden(*vector).failed;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(failed(Replaced(text, "[[2,3],[2,4],[2,0],[2,1]]", "[[2,4],[2,3],[2,0],[2,1]]")),
              ElementsAre("FT: other edges (first sender that differs=2)"));
  EXPECT_THAT(failed(Replaced(text, "\"phase1_edges\":4", "\"phase1_edges\":3")),
              ElementsAre("MGO: another first phase (edges=4, wanted=3)"));
  EXPECT_THAT(failed(Replaced(text, "92488727", "92488728")), ElementsAre("MGO: other arrival times"));
  EXPECT_THAT(failed(Replaced(text, "\"FT\"", "\"bogus\"")),
              ElementsAre(HasSubstr("bogus: algorithm: unknown (name=bogus")));
  EXPECT_THAT(failed(Replaced(text, "\"lower_bound_ns\":261849096", "\"lower_bound_ns\":261849097")),
              ElementsAre(HasSubstr("MGO_jackson: faster than possible"), HasSubstr("OPTIMAL: faster than possible")));
  EXPECT_THAT(
      failed(Replaced(Replaced(text, "\"OPTIMAL\"", "\"MGO_localsearch_reference_only\""),
                      "\"done_ns\":261849096,\"edges\":[[2,4],[2,0]", "\"done_ns\":2000,\"edges\":[[2,4],[2,0]")),
      ElementsAre(HasSubstr("best is too slow"), HasSubstr("lower bound: not one")));
}

TEST(GoldenVectorTest, RefusesWhatIsNone) {
  const std::string text = Read("g00_P5_m1024.json");
  const auto error = [](const std::string& changed) {
    return std::string(ParseGoldenVector(changed).status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("not a JSON object"));
  EXPECT_THAT(error(text.substr(0, 500)), HasSubstr("not a JSON object"));
  EXPECT_THAT(error("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error("{}"), HasSubstr("m: not an integer (value=null)"));
  EXPECT_THAT(error(Replaced(text, "\"root\":2", "\"root\":5")), HasSubstr("root: out of range (value=5"));
  EXPECT_THAT(error(Replaced(text, "\"P\":5", "\"P\":6")), HasSubstr("P: out of range (value=6"));
  EXPECT_THAT(error(Replaced(text, "\"m\":1024", "\"m\":1.5")), HasSubstr("m: not an integer (value=1.5)"));
  EXPECT_THAT(error(Replaced(text, "\"m\":1024", "\"m\":18446744073709551615")), HasSubstr("message: too long"));
  EXPECT_THAT(error(Replaced(text, "[8,8,8,9,10,-1,", "[8,8,8,9,10,7,")), HasSubstr("cycle"));
  EXPECT_THAT(error(Replaced(text, "[8,8,8,9,10,-1,", "[3,8,8,9,10,-1,")), HasSubstr("its parent is no switch"));
  EXPECT_THAT(error(Replaced(text, "\"o_ns\":[1193610", "\"o_ns\":[-1")), HasSubstr("o_ns: out of range (value=-1"));
  EXPECT_THAT(error(Replaced(text, "[[2,3],[2,4]", "[[2,3],[2,5]")), HasSubstr("FT.edges: not [sender, receiver]"));
  EXPECT_THAT(error(Replaced(text, "[[2,3],[2,4]", "[[2,3],[2]")), HasSubstr("FT.edges: not [sender, receiver]"));
  EXPECT_THAT(error(Replaced(text, "\"edges\":[[2,3],[2,4],[2,0],[2,1]]", "\"edges\":7")), HasSubstr("FT.edges"));
  EXPECT_THAT(error(Replaced(text, "\"result\":{", "\"result\":{\"x\":1,")), HasSubstr("x.done_ns: not an integer"));
}

}  // namespace
}  // namespace copse::planner
