// SPDX-License-Identifier: Apache-2.0
//
// Writes pictures as SVG, from the few shapes that plots and trees need.
#ifndef COPSE_BASE_SVG_H_
#define COPSE_BASE_SVG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace copse {

inline constexpr const char* kSvgInk = "#24292f";
inline constexpr const char* kSvgGray = "#57606a";
inline constexpr const char* kSvgRule = "#d0d7de";

// Escapes `text` for XML, attributes included; control characters become '?'.
std::string EscapeXml(std::string_view text);

// An Svg collects shapes; later ones cover earlier ones. Lengths are pixels; x grows to the right and y down. Texts are
// escaped, colors are not. Thread-compatible.
class Svg {
 public:
  enum class Anchor : uint8_t { kStart, kMiddle, kEnd };
  struct TextStyle {
    Anchor anchor = Anchor::kStart;
    const char* color = kSvgInk;
    int size = 12;
    bool bold = false;
  };
  using Point = std::pair<double, double>;

  // Draws a white background, with the title at the top left.
  Svg(double width, double height, std::string_view title);

  void Text(double x, double y, std::string_view text, const TextStyle& style);
  void Text(double x, double y, std::string_view text) { Text(x, y, text, TextStyle()); }
  void Line(Point from, Point to, std::string_view color = kSvgRule, double width = 1);
  void Rect(Point corner, double width, double height, std::string_view color);
  void Circle(Point center, double radius, std::string_view color);
  void Polyline(const std::vector<Point>& points, std::string_view color, double width = 2);

  // Returns the SVG document. The object must not be used afterwards.
  std::string Finish() &&;

 private:
  std::string out_;
};

}  // namespace copse

#endif  // COPSE_BASE_SVG_H_
