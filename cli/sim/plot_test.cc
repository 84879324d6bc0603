// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/plot.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::simcli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Plot TwoLines() {
  return {.title = "bcast & more",
          .x_title = "nodes",
          .series = {{"FT", {{4, 900, 1'000, 1'200}, {8, 2'000, 2'000, 2'000}, {16, 4'000, 9'000, 12'000}}},
                     {"BT", {{4, 500, 600, 700}, {16, 900, 1'000, 1'100}}}}};
}

TEST(DrawPlotTest, HasALineAndBarsForEachSeries) {
  const std::string svg = DrawPlot(TwoLines());
  EXPECT_THAT(svg, HasSubstr("bcast &amp; more"));
  EXPECT_EQ(Count(svg, "<polyline"), 2u);
  EXPECT_EQ(Count(svg, "<circle"), 5u);
  for (const char* text : {">FT</text>", ">BT</text>", ">4</text>", ">16</text>", ">nodes</text>", ">1 us</text>",
                           ">100 ns</text>", ">100 us</text>"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

TEST(DrawPlotTest, LeavesOutWhatALogarithmDoesNotHave) {
  Plot plot = TwoLines();
  plot.series[0].points[0].low_ns = 0;
  plot.series[1].points[0].x = 0;
  EXPECT_EQ(Count(DrawPlot(plot), "<circle"), 3u);
  EXPECT_EQ(Count(DrawPlot({}), "<circle"), 0u);
  EXPECT_THAT(DrawPlot({.title = "", .x_title = "", .series = {{"one", {{1, 5, 5, 5}}}}}), Not(HasSubstr("nan")));
}

TEST(WritePngTest, WritesAPicture) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / "plot.png").string();
  const absl::Status status = WritePng(DrawPlot(TwoLines()), path);
  ASSERT_TRUE(status.ok()) << status;  // tools/setup installs rsvg-convert
  std::ifstream stream(path, std::ios::binary);
  const std::string png((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_EQ(png.substr(1, 3), "PNG");
  // The sizes are big-endian, behind the signature and the first chunk's head: twice 780 x 452.
  const auto number = [&](size_t at) {
    return static_cast<uint8_t>(png[at + 2]) * 256 + static_cast<uint8_t>(png[at + 3]);
  };
  EXPECT_EQ(number(16), 1560);
  EXPECT_EQ(number(20), 904);
  EXPECT_FALSE(WritePng("no picture", path).ok());
  EXPECT_FALSE(WritePng(DrawPlot(TwoLines()), "/nonexistent/plot.png").ok());
}

TEST(WritePngTest, SaysWhatIsMissing) {
  const std::string path = std::getenv("PATH");
  ASSERT_EQ(setenv("PATH", "/nonexistent", 1), 0);
  const absl::Status status = WritePng(DrawPlot(TwoLines()), "plot.png");
  ASSERT_EQ(setenv("PATH", path.c_str(), 1), 0);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("librsvg2-bin"));
}

}  // namespace
}  // namespace copse::simcli
