// SPDX-License-Identifier: Apache-2.0
#include "base/svg.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/string_view.h"

namespace copse {

std::string EscapeXml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

Svg::Svg(double width, double height, std::string_view title) {
  absl::StrAppendFormat(&out_,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                        "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n<title>%s</title>\n",
                        width, height, width, height, EscapeXml(title));
  Rect({0, 0}, width, height, "#fff");
  Text(16, 22, title, {.anchor = Anchor::kStart, .color = kSvgInk, .size = 14, .bold = true});
}

void Svg::Text(double x, double y, std::string_view text, const TextStyle& style) {
  const char* const anchor = style.anchor == Anchor::kStart    ? "start"
                             : style.anchor == Anchor::kMiddle ? "middle"
                                                               : "end";
  absl::StrAppendFormat(&out_,
                        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" font-size=\"%d\"%s>%s</text>\n", x,
                        y, anchor, style.color, style.size, style.bold ? " font-weight=\"bold\"" : "", EscapeXml(text));
}

void Svg::Line(Point from, Point to, std::string_view color, double width) {
  absl::StrAppendFormat(&out_,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%g\"/>\n",
                        from.first, from.second, to.first, to.second, AbslView(color), width);
}

void Svg::Rect(Point corner, double width, double height, std::string_view color) {
  absl::StrAppendFormat(&out_, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                        corner.first, corner.second, width, height, AbslView(color));
}

void Svg::Circle(Point center, double radius, std::string_view color) {
  absl::StrAppendFormat(&out_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" fill=\"%s\"/>\n", center.first, center.second,
                        radius, AbslView(color));
}

void Svg::Polyline(const std::vector<Point>& points, std::string_view color, double width) {
  std::string path;
  for (const Point& point : points) absl::StrAppendFormat(&path, " %.1f,%.1f", point.first, point.second);
  absl::StrAppendFormat(&out_, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"/>\n",
                        path.empty() ? path : path.substr(1), AbslView(color), width);
}

std::string Svg::Finish() && {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace copse
