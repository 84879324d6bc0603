// SPDX-License-Identifier: Apache-2.0
#include "base/svg.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse {
namespace {

using ::testing::HasSubstr;

TEST(EscapeXmlTest, LeavesNothingThatXmlReads) {
  EXPECT_EQ(EscapeXml("<a b=\"c\">&'\n\x7f"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;??");
}

TEST(SvgTest, WritesShapesInOrder) {
  Svg svg(200, 100, "plan <1>");
  svg.Line({1, 2}, {3, 4.25}, "#f00", 2);
  svg.Rect({5, 6}, 7, 8, "#0f0");
  svg.Circle({9, 10}, 3, "#00f");
  svg.Polyline({{0, 1}, {2, 3}}, "#123456");
  svg.Text(11, 12, "n&1", {.anchor = Svg::Anchor::kEnd, .bold = true});
  const std::string text = std::move(svg).Finish();
  EXPECT_EQ(text.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 100\"", 0), 0u);
  EXPECT_THAT(text, HasSubstr("<title>plan &lt;1&gt;</title>"));
  EXPECT_THAT(text, HasSubstr("<line x1=\"1.0\" y1=\"2.0\" x2=\"3.0\" y2=\"4.2\" stroke=\"#f00\" stroke-width=\"2\"/>\n"
                              "<rect x=\"5.0\" y=\"6.0\" width=\"7.0\" height=\"8.0\" fill=\"#0f0\"/>\n"
                              "<circle cx=\"9.0\" cy=\"10.0\" r=\"3\" fill=\"#00f\"/>\n"
                              "<polyline points=\"0.0,1.0 2.0,3.0\" fill=\"none\""));
  EXPECT_THAT(text,
              HasSubstr("text-anchor=\"end\" fill=\"#24292f\" font-size=\"12\" font-weight=\"bold\">n&amp;1</text>"));
  EXPECT_EQ(text.substr(text.size() - 7), "</svg>\n");
}

}  // namespace
}  // namespace copse
