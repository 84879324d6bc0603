// SPDX-License-Identifier: Apache-2.0
//
// Times as lines over a logarithmic axis, as SVG and PNG.
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
  std::vector<PlotPoint> points;  // by x
};
struct Plot {
  std::string title;
  std::string x_title;
  std::vector<PlotSeries> series;
};

// Draws SVG. Both axes are logarithmic: x to the base 2, time to the base 10. Each point has a bar from low to high.
// Points that are not above 0 are left out.
std::string DrawPlot(const Plot& plot);

// Converts the picture to a PNG at `path` by rsvg-convert, of the package librsvg2-bin.
// Errors: NOT_FOUND if it is not installed; INTERNAL if it fails, with its exit code.
absl::Status WritePng(const std::string& svg, const std::string& path);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_PLOT_H_
