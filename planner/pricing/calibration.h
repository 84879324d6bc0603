// SPDX-License-Identifier: Apache-2.0
//
// Fits the cost model's parameters to measured calls.
#ifndef COPSE_PLANNER_PRICING_CALIBRATION_H_
#define COPSE_PLANNER_PRICING_CALIBRATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/cost_model.h"
#include "planner/pricing/team_costs.h"
#include "planner/topology/topology.h"
#include "schedule/plan.h"

namespace copse::planner {

// ClusterCosts holds the costs of a cluster of equal nodes on one switch.
struct ClusterCosts {
  CostParameters parameters;
  topology::FlatCosts nodes;  // `receive_overhead_ns` 0: equal to overhead_ns
};

// An Observation is one call with its measured time.
struct Observation {
  schedule::TeamShape shape;
  schedule::Plan plan;
  CallArguments arguments;
  // The ranks leave a barrier of this plan, and post the call immediately. nullopt: all ranks post together.
  std::optional<schedule::Plan> barrier;
  double measured_ns = 0;  // duration at the rank that took longest, from its own post
};

// Returns the duration that the model predicts for `measured_ns`. Errors: those of Price, TeamCosts::Create and
// FlatTopology.
absl::StatusOr<double> PredictNs(const Observation& observation, const ClusterCosts& costs);

// A FittedParameter is one parameter after the fit.
struct FittedParameter {
  std::string name;  // "wake_ns"; of nodes "overhead_ns", "receive_overhead_ns", "latency_ns", "bandwidth_bytes_per_s"
  int64_t start = 0;
  int64_t value = 0;
  // With probability 2/3 the true value lies between value / doubt and value * doubt, if the model is right; doubt is
  // at least 1. It is computed from the posterior's covariance where the fit ended.
  double doubt = 1;
  // It is true if the observations narrowed the value's logarithm down to less than half of the prior's width.
  bool determined = false;
  // It names the parameters whose posterior correlation with this one is beyond kConfusedCorrelation: the observations
  // determine only a combination of them.
  std::vector<std::string> confused_with;
};

struct Calibration {
  ClusterCosts costs;
  double median_residual = 0;  // median of |predicted - measured| / measured
  std::vector<FittedParameter> parameters;
  double loss = 0;  // the minimized sum, without unit; it compares fits of the same observations
  uint32_t iterations = 0;
};

inline constexpr double kConfusedCorrelation = 0.8;

// Finds the costs with which the model explains the observations best: least squares of log(predicted / measured) over
// a measurement's usual error, a tenth, and log(value / start) over log(4), the expected ratio to the start. Parameters
// that start at 0 stay 0, except a receive_overhead_ns that stands for overhead_ns; host and cores are unchanged. A
// parameter that no observation depends on stays at its start. spin_ns is not fitted, since a threshold has no slope to
// follow: one fit is made for each value in `spins_ns` (empty: the start's value), and the best is returned.
//
// Method:  Levenberg-Marquardt on logarithms; Price is the forward model, derivatives are differences; Huber's weights.
//          Deterministic.
// Cost:    some 25 predictions per observation and iteration.
// Errors:  INVALID_ARGUMENT without observations, for a measured time that is not positive and finite, if all
//          parameters start at 0, and for a start or a spin_ns that is out of range; those of PredictNs.
// Source:  Marquardt, "An algorithm for least-squares estimation of nonlinear parameters", J. SIAM 11 (1963).
absl::StatusOr<Calibration> Calibrate(absl::Span<const Observation> observations, const ClusterCosts& start,
                                      std::vector<int64_t> spins_ns = {});

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_CALIBRATION_H_
