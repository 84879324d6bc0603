// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/calibration.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::planner {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

constexpr double kStep = 0.02;  // step of a logarithm, for derivatives: predictions are whole nanoseconds, with kinks
constexpr double kDampingFirst = 1e-2;
constexpr double kDampingMax = 1e6;
constexpr uint32_t kIterationsMax = 60;
// log(value / start) is assumed to have this standard deviation before any observation: a factor of 4, up or down.
const double kPriorWidth = std::log(4.0);
// A measurement and the model usually have this relative error. Residuals beyond kHuber times this have less weight.
constexpr double kNoiseShare = 0.1;
constexpr double kGainMin = 1e-4;  // relative decrease of the sum below which an iteration is the last

// A ParameterSlot names a parameter, locates it in ClusterCosts, and has its upper limit.
struct ParameterSlot {
  const char* name;
  int64_t* (*in)(ClusterCosts&);
  int64_t highest;
};

const ParameterSlot kSlots[] = {
    {"wake_ns", [](ClusterCosts& c) { return &c.parameters.wake_ns; }, kCostParameterMax},
    {"takeover_ns", [](ClusterCosts& c) { return &c.parameters.takeover_ns; }, kCostParameterMax},
    {"client_hop_ns", [](ClusterCosts& c) { return &c.parameters.client_hop_ns; }, kCostParameterMax},
    {"arm_ns", [](ClusterCosts& c) { return &c.parameters.arm_ns; }, kCostParameterMax},
    {"send_ps_per_byte", [](ClusterCosts& c) { return &c.parameters.send_ps_per_byte; }, kCostParameterMax},
    {"receive_ps_per_byte", [](ClusterCosts& c) { return &c.parameters.receive_ps_per_byte; }, kCostParameterMax},
    {"copy_ps_per_byte", [](ClusterCosts& c) { return &c.parameters.copy_ps_per_byte; }, kCostParameterMax},
    {"alu_ps_per_byte", [](ClusterCosts& c) { return &c.parameters.alu_ps_per_byte; }, kCostParameterMax},
    {"overhead_ns", [](ClusterCosts& c) { return &c.nodes.overhead_ns; }, topology::kTimeNsMax},
    {"receive_overhead_ns", [](ClusterCosts& c) { return &c.nodes.receive_overhead_ns; }, topology::kTimeNsMax},
    {"latency_ns", [](ClusterCosts& c) { return &c.nodes.latency_ns; }, topology::kTimeNsMax},
    {"bandwidth_bytes_per_s", [](ClusterCosts& c) { return &c.nodes.bandwidth_bytes_per_s; },
     topology::kBandwidthBytesPerSecondMax},
};

// Solves a * x = b for a symmetric `a`. Returns false if `a` is not positive definite.
bool Solve(Matrix a, Vector b, Vector* x) {
  const size_t n = b.size();
  for (size_t j = 0; j < n; ++j) {  // Cholesky, in the lower half of a
    for (size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    if (!(a[j][j] > 0)) return false;
    a[j][j] = std::sqrt(a[j][j]);
    for (size_t i = j + 1; i < n; ++i) {
      for (size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  *x = std::move(b);
  return true;
}

// A Problem computes the sum that the fit minimizes, and its derivatives. A point holds log(value / start) for each
// free parameter.
class Problem {
 public:
  Problem(absl::Span<const Observation> observations, const ClusterCosts& start)
      : observations_(observations), start_(start) {
    for (const ParameterSlot& slot : kSlots) {
      if (*slot.in(start_) > 0) free_.push_back(&slot);
    }
  }

  const std::vector<const ParameterSlot*>& free() const { return free_; }

  ClusterCosts CostsAt(const Vector& point) const {
    ClusterCosts costs = start_;
    for (size_t p = 0; p < free_.size(); ++p) {
      int64_t& value = *free_[p]->in(costs);
      const double wanted = static_cast<double>(value) * std::exp(point[p]);
      value = std::llround(std::clamp(wanted, 1.0, static_cast<double>(free_[p]->highest)));
    }
    return costs;
  }

  // Returns log(predicted / measured) by observation.
  absl::StatusOr<Vector> Residuals(const Vector& point) const {
    const ClusterCosts costs = CostsAt(point);
    Vector residuals;
    for (const Observation& observation : observations_) {
      ASSIGN_OR_RETURN(const double predicted, PredictNs(observation, costs));
      residuals.push_back(std::log(std::max(predicted, 1.0) / observation.measured_ns));
    }
    return residuals;
  }

  // Returns the sum at a point: Huber's loss of the residuals, and the squared distances from the start.
  double SumAt(const Vector& point, const Vector& residuals) const {
    double sum = 0;
    for (const double r : residuals) {
      const double share = std::abs(r) / kNoiseShare;
      sum += share <= kHuber ? share * share : kHuber * (2 * share - kHuber);
    }
    for (const double x : point) sum += x * x / (kPriorWidth * kPriorWidth);
    return sum;
  }
  double WeightOf(double residual) const {
    const double share = std::abs(residual) / kNoiseShare;
    return std::min(1.0, kHuber / std::max(share, kHuber)) / (kNoiseShare * kNoiseShare);
  }

  // Computes the normal equations at a point: half the Hessian of the sum (the posterior's precision), and minus half
  // its gradient.
  absl::Status Linearize(const Vector& point, const Vector& residuals, Matrix* precision, Vector* descent) const {
    const size_t n = free_.size();
    Matrix slopes;  // [parameter][observation]
    for (size_t p = 0; p < n; ++p) {
      Vector above = point, below = point;
      above[p] += kStep;
      below[p] -= kStep;
      ASSIGN_OR_RETURN(Vector slope, Residuals(above));
      ASSIGN_OR_RETURN(const Vector low, Residuals(below));
      for (size_t i = 0; i < slope.size(); ++i) slope[i] = (slope[i] - low[i]) / (2 * kStep);
      slopes.push_back(std::move(slope));
    }
    const double prior = 1 / (kPriorWidth * kPriorWidth);
    precision->assign(n, Vector(n, 0));
    descent->assign(n, 0);
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = 0; q < n; ++q) {
        for (size_t i = 0; i < residuals.size(); ++i) {
          (*precision)[p][q] += WeightOf(residuals[i]) * slopes[p][i] * slopes[q][i];
        }
      }
      (*precision)[p][p] += prior;
      for (size_t i = 0; i < residuals.size(); ++i) {
        (*descent)[p] -= WeightOf(residuals[i]) * slopes[p][i] * residuals[i];
      }
      (*descent)[p] -= prior * point[p];
    }
    return absl::OkStatus();
  }

 private:
  static constexpr double kHuber = 2;

  absl::Span<const Observation> observations_;
  ClusterCosts start_;
  std::vector<const ParameterSlot*> free_;
};

absl::Status CheckInput(absl::Span<const Observation> observations) {
  if (observations.empty()) return absl::InvalidArgumentError("calibration: no observations (count=0, least=1)");
  for (size_t i = 0; i < observations.size(); ++i) {
    const double ns = observations[i].measured_ns;
    if (!std::isfinite(ns) || ns <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("calibration: observation ", i, ": no time that a call takes (ns=", ns, ")"));
    }
  }
  return absl::OkStatus();
}

// Describes the free parameters by the posterior's covariance, the inverse of `precision`.
std::vector<FittedParameter> Describe(const Problem& problem, const Matrix& precision, ClusterCosts start,
                                      ClusterCosts fitted) {
  const size_t n = problem.free().size();
  Matrix covariance(n);
  for (size_t p = 0; p < n; ++p) {
    Vector unit(n, 0);
    unit[p] = 1;
    if (!Solve(precision, unit, &covariance[p])) covariance[p] = std::move(unit);  // never: the prior is definite
  }
  std::vector<FittedParameter> result;
  for (size_t p = 0; p < n; ++p) {
    FittedParameter& one = result.emplace_back();
    const ParameterSlot& slot = *problem.free()[p];
    const double width = std::sqrt(covariance[p][p]);
    one.name = slot.name;
    one.start = *slot.in(start);
    one.value = *slot.in(fitted);
    one.doubt = std::exp(width);
    one.determined = width < kPriorWidth / 2;
    for (size_t q = 0; q < n; ++q) {
      const double correlation = covariance[p][q] / std::sqrt(covariance[p][p] * covariance[q][q]);
      if (q != p && std::abs(correlation) > kConfusedCorrelation) one.confused_with.push_back(problem.free()[q]->name);
    }
  }
  return result;
}

double Median(Vector values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Fits from `start`, whose spin_ns stays as it is.
absl::StatusOr<Calibration> Fit(const Problem& problem, const ClusterCosts& start) {
  Calibration result;
  Vector point(problem.free().size(), 0);
  ASSIGN_OR_RETURN(Vector residuals, problem.Residuals(point));
  double sum = problem.SumAt(point, residuals);
  double damping = kDampingFirst;
  Matrix precision;
  Vector descent;
  RETURN_IF_ERROR(problem.Linearize(point, residuals, &precision, &descent));
  while (result.iterations < kIterationsMax && damping < kDampingMax) {
    ++result.iterations;
    Matrix damped = precision;
    for (size_t p = 0; p < point.size(); ++p) damped[p][p] *= 1 + damping;
    Vector step;
    if (!Solve(std::move(damped), descent, &step)) {
      damping *= 10;
      continue;
    }
    Vector next = point;
    for (size_t p = 0; p < point.size(); ++p) next[p] += std::clamp(step[p], -1.0, 1.0);
    ASSIGN_OR_RETURN(Vector next_residuals, problem.Residuals(next));
    const double next_sum = problem.SumAt(next, next_residuals);
    if (!(next_sum < sum)) {
      damping *= 4;
      continue;
    }
    const double gain = (sum - next_sum) / sum;
    point = std::move(next);
    residuals = std::move(next_residuals);
    sum = next_sum;
    damping /= 4;
    RETURN_IF_ERROR(problem.Linearize(point, residuals, &precision, &descent));
    if (gain < kGainMin) break;
  }

  result.loss = sum;
  result.costs = problem.CostsAt(point);
  Vector errors;
  for (const double r : residuals) errors.push_back(std::abs(std::exp(r) - 1));
  result.median_residual = Median(std::move(errors));
  result.parameters = Describe(problem, precision, start, result.costs);
  return result;
}

}  // namespace

absl::StatusOr<double> PredictNs(const Observation& observation, const ClusterCosts& costs) {
  std::vector<std::string> names;
  for (uint32_t v = 0; v < observation.shape.node_count; ++v) names.push_back(absl::StrCat("n", v));
  ASSIGN_OR_RETURN(const topology::Topology topology, topology::FlatTopology(names, costs.nodes));
  ASSIGN_OR_RETURN(const TeamCosts team, TeamCosts::Create(names, topology, costs.parameters));
  PriceOptions options{.critical_path = false, .post_ns = {}};
  if (observation.barrier.has_value()) {
    ASSIGN_OR_RETURN(Prediction before, Price(*observation.barrier, observation.shape, team,
                                              {.collective = Collective::kBarrier}, options));
    const int64_t first = *std::min_element(before.completion_ns.begin(), before.completion_ns.end());
    for (int64_t& ns : before.completion_ns) ns -= first;
    options.post_ns = std::move(before.completion_ns);
  }
  ASSIGN_OR_RETURN(const Prediction call,
                   Price(observation.plan, observation.shape, team, observation.arguments, options));
  int64_t slowest = 0;
  for (size_t r = 0; r < call.completion_ns.size(); ++r) {
    slowest = std::max(slowest, call.completion_ns[r] - (options.post_ns.empty() ? 0 : options.post_ns[r]));
  }
  return static_cast<double>(slowest);
}

absl::StatusOr<Calibration> Calibrate(absl::Span<const Observation> observations, const ClusterCosts& start,
                                      std::vector<int64_t> spins_ns) {
  RETURN_IF_ERROR(CheckInput(observations));
  RETURN_IF_ERROR(CheckCostParameters(start.parameters));
  if (spins_ns.empty()) spins_ns.push_back(start.parameters.spin_ns);
  std::optional<Calibration> best;
  for (const int64_t spin_ns : spins_ns) {
    ClusterCosts from = start;
    from.parameters.spin_ns = spin_ns;
    RETURN_IF_ERROR(CheckCostParameters(from.parameters));
    if (from.nodes.receive_overhead_ns == 0) from.nodes.receive_overhead_ns = from.nodes.overhead_ns;
    const Problem problem(observations, from);
    if (problem.free().empty()) {
      return absl::InvalidArgumentError("calibration: all parameters start at 0 (free=0, least=1)");
    }
    ASSIGN_OR_RETURN(Calibration fit, Fit(problem, from));
    if (!best.has_value() || fit.loss < best->loss) best = std::move(fit);
  }
  return *std::move(best);
}

}  // namespace copse::planner
