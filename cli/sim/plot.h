// SPDX-License-Identifier: Apache-2.0
//
// Draws times as lines over a logarithmic axis, as SVG and PNG.
#ifndef COPSE_CLI_SIM_PLOT_H_
#define COPSE_CLI_SIM_PLOT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace copse::simcli {

struct PlotPoint {
  double x = 0;  // above 0
  double low_ns = 0, middle_ns = 0, high_ns = 0;
};
struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // in ascending order of x
};
struct Plot {
  std::string title;
  std::string x_title;
  std::vector<PlotSeries> series;
};

// Draws an SVG. Both axes are logarithmic: x to the base 2, time to the base 10. Each point has a bar from `low_ns` to
// `high_ns`. Points whose x or `low_ns` is not above 0, or whose `high_ns` is below `low_ns`, are left out.
std::string DrawPlot(const Plot& plot);

// Converts the picture to a PNG at `path` by the program rsvg-convert (package librsvg2-bin).
// Errors: NOT_FOUND if the program is not installed; INTERNAL if it cannot be run, or fails (with its wait status).
absl::Status WritePng(const std::string& svg, const std::string& path);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_PLOT_H_
