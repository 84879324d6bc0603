// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/plot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/svg.h"
#include "cli/sim/text.h"

extern "C" char** environ;

namespace copse::simcli {
namespace {

constexpr double kLeft = 76, kRight = 620, kTop = 44, kBottom = 400, kWidth = 780, kHeight = 452;
constexpr double kLabelStep = 14;
constexpr std::array<const char*, 10> kColors = {"#0969da", "#cf222e", "#1a7f37", "#8250df", "#bf8700",
                                                 "#1b7c83", "#a40e26", "#57606a", "#e16f24", "#24292f"};
constexpr const char* kConverter = "rsvg-convert";

bool IsDrawn(const PlotPoint& point) { return point.x > 0 && point.low_ns > 0 && point.high_ns >= point.low_ns; }

class PlotDrawing {
 public:
  explicit PlotDrawing(const Plot& plot) : plot_(plot), svg_(kWidth, kHeight, plot.title) {
    double low = 0, high = 0;
    for (const PlotSeries& series : plot.series) {
      for (const PlotPoint& point : series.points) {
        if (!IsDrawn(point)) continue;
        xs_.insert(point.x);
        low = low == 0 ? point.low_ns : std::min(low, point.low_ns);
        high = std::max(high, point.high_ns);
      }
    }
    if (xs_.empty()) return;
    decade_low_ = std::floor(std::log10(low));
    decade_high_ = std::max(std::ceil(std::log10(high)), decade_low_ + 1);
  }

  std::string Draw() && {
    if (!xs_.empty()) {
      DrawAxes();
      for (size_t i = 0; i < plot_.series.size(); ++i) DrawSeries(plot_.series[i], ColorOf(i));
      DrawLabels();
    }
    return std::move(svg_).Finish();
  }

 private:
  static const char* ColorOf(size_t series) { return kColors[series % kColors.size()]; }
  double XOf(double x) const {
    const double first = std::log2(*xs_.begin()), span = std::log2(*xs_.rbegin()) - first;
    return kLeft + 20 + (kRight - kLeft - 40) * (span > 0 ? (std::log2(x) - first) / span : 0.5);
  }
  double YOf(double ns) const {
    return kBottom - (kBottom - kTop) * (std::log10(ns) - decade_low_) / (decade_high_ - decade_low_);
  }

  void DrawAxes() {
    for (double decade = decade_low_; decade <= decade_high_; ++decade) {
      const double ns = std::pow(10, decade);
      svg_.Line({kLeft, YOf(ns)}, {kRight, YOf(ns)});
      svg_.Text(kLeft - 8, YOf(ns) + 4, FormatNs(ns), {.anchor = Svg::Anchor::kEnd, .color = kSvgGray});
    }
    double last = -100;
    for (const double x : xs_) {
      if (XOf(x) - last < 40) continue;  // no room
      last = XOf(x);
      svg_.Text(last, kBottom + 18, absl::StrFormat("%.6g", x), {.anchor = Svg::Anchor::kMiddle, .color = kSvgGray});
    }
    svg_.Text((kLeft + kRight) / 2, kBottom + 38, plot_.x_title, {.anchor = Svg::Anchor::kMiddle, .color = kSvgGray});
  }

  void DrawSeries(const PlotSeries& series, const char* color) {
    std::vector<Svg::Point> line;
    for (const PlotPoint& point : series.points) {
      if (!IsDrawn(point)) continue;
      const double x = XOf(point.x);
      svg_.Line({x, YOf(point.low_ns)}, {x, YOf(point.high_ns)}, color);
      line.emplace_back(x, YOf(point.middle_ns));
    }
    if (line.empty()) return;
    svg_.Polyline(line, color);
    for (const Svg::Point& point : line) svg_.Circle(point, 3, color);
  }

  // Draws the series' names beside the ends of their lines, moved so that they do not overlap.
  void DrawLabels() {
    std::vector<std::pair<double, size_t>> labels;
    for (size_t i = 0; i < plot_.series.size(); ++i) {
      for (auto point = plot_.series[i].points.rbegin(); point != plot_.series[i].points.rend(); ++point) {
        if (!IsDrawn(*point)) continue;
        labels.emplace_back(YOf(point->middle_ns) + 4, i);
        break;
      }
    }
    std::sort(labels.begin(), labels.end());
    double last = -kLabelStep;
    for (auto& [y, series] : labels) {
      y = std::max(y, last + kLabelStep);
      last = y;
    }
    const double over = labels.empty() ? 0 : std::max(0.0, last - (kHeight - 8));
    for (const auto& [y, series] : labels) {
      svg_.Text(kRight + 8, y - over, plot_.series[series].name,
                {.anchor = Svg::Anchor::kStart, .color = ColorOf(series), .size = 12, .bold = true});
    }
  }

  const Plot& plot_;
  Svg svg_;
  std::set<double> xs_;
  double decade_low_ = 0, decade_high_ = 1;
};

absl::Status Failed(const std::string& what, int error) {
  return absl::InternalError(absl::StrCat(kConverter, ": ", what, ": ", std::strerror(error)));
}

// OpenFile owns a file descriptor, which its destructor closes.
struct OpenFile {
  int fd = -1;
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

std::string DrawPlot(const Plot& plot) { return PlotDrawing(plot).Draw(); }

absl::Status WritePng(const std::string& svg, const std::string& path) {
  // The input is a file in memory instead of a pipe, so that no thread has to write while the converter reads.
  const OpenFile input{memfd_create("copse-sim.svg", MFD_CLOEXEC)};
  if (input.fd < 0) return Failed("memfd_create", errno);
  for (size_t at = 0; at < svg.size();) {
    const ssize_t written = write(input.fd, svg.data() + at, svg.size() - at);
    if (written < 0) return Failed("write", errno);
    at += static_cast<size_t>(written);
  }
  if (lseek(input.fd, 0, SEEK_SET) != 0) return Failed("lseek", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.fd, STDIN_FILENO);
  std::string output = path;
  std::array<char*, 6> argv = {const_cast<char*>(kConverter),
                               const_cast<char*>("--format=png"),
                               const_cast<char*>("--zoom=2"),
                               const_cast<char*>("--output"),
                               output.data(),
                               nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, kConverter, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    return absl::NotFoundError(
        absl::StrCat("png: no ", kConverter, ", which the package librsvg2-bin has (file=", path, ")"));
  }
  if (error != 0) return Failed("cannot be started", error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return Failed("waitpid", errno);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("png: ", kConverter, " failed (status=", status, ", file=", path, ")"));
}

}  // namespace copse::simcli
