// SPDX-License-Identifier: Apache-2.0
#include "planner/measure/tree_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "planner/measure/link_paths.h"

namespace copse::measure {
namespace {

// A latency has at least this error, even if its spread is 0: a share of the value, and the resolution of clocks.
constexpr double kTrustShare = 0.01;
constexpr double kTrustNs = 1'000;
// Bandwidths that differ by less than this share count as equal.
constexpr double kRateTie = 0.15;
constexpr size_t kStepsMax = 4'000;
// A residual counts as large from this multiple of the median residual on.
constexpr double kUsual = 1.5;
constexpr int kRobustRounds = 10;
constexpr int kFixRoundsMax = 20;
constexpr int kRoundsMax = 100;
constexpr double kSettledNs = 0.01;

struct Row {
  std::vector<uint32_t> links;
  double latency_ns = 0;
  double full_weight = 0;  // weight from the measurement alone
  double weight = 0;
  double residual_ns = 0;  // measured minus fitted
  const PairMeasurement* measurement = nullptr;
};

class Fitter {
 public:
  Fitter(const topology::Topology& tree, absl::Span<const PairMeasurement> measurements) : tree_(tree), paths_(&tree) {
    for (const PairMeasurement& measurement : measurements) {
      Row row;
      paths_.Between(measurement.pair, &row.links);
      row.latency_ns = static_cast<double>(measurement.latency_ns);
      const double doubt = kTrustNs + static_cast<double>(measurement.latency_spread_ns) + kTrustShare * row.latency_ns;
      row.weight = row.full_weight = 1 / (doubt * doubt);
      row.measurement = &measurement;
      rows_.push_back(std::move(row));
    }
    rows_of_.resize(paths_.link_count());
    for (uint32_t r = 0; r < rows_.size(); ++r) {
      for (const uint32_t link : rows_[r].links) rows_of_[link].push_back(r);
    }
    fits_.resize(paths_.link_count());
    for (uint32_t s = 0; s < tree.switches().size(); ++s) {
      fits_[s] = {.latency_ns = tree.switches()[s].latency_ns,
                  .bandwidth_bytes_per_s = tree.switches()[s].bandwidth_bytes_per_s};
    }
    for (uint32_t n = 0; n < tree.nodes().size(); ++n) {
      fits_[paths_.OfNode(n)] = {.latency_ns = tree.nodes()[n].latency_ns,
                                 .bandwidth_bytes_per_s = tree.nodes()[n].bandwidth_bytes_per_s};
    }
  }

  TreeFit Fit() {
    FindChains();
    SolveLatencies();
    // Disturbances only lengthen a latency, so measurements that are too long for the fit of the others get less
    // weight.
    for (int round = 0; round < kRobustRounds && DoubtLong(); ++round) SolveLatencies();
    SpreadLatencies();
    BoundRates();
    TreeFit fit;
    const auto switches = static_cast<ptrdiff_t>(tree_.switches().size());
    fit.switches.assign(fits_.begin(), fits_.begin() + switches);
    fit.nodes.assign(fits_.begin() + switches, fits_.end());
    double squares = 0, worst = 0;
    for (const Row& row : rows_) {
      squares += row.residual_ns * row.residual_ns;
      worst = std::max(worst, std::abs(row.residual_ns));
    }
    if (!rows_.empty()) fit.latency_error_ns = std::llround(std::sqrt(squares / static_cast<double>(rows_.size())));
    fit.latency_error_ns_max = std::llround(worst);
    return fit;
  }

 private:
  // Finds chains: links that every measurement crosses together or not at all, so that only their sum is determined.
  // `chain_` numbers them.
  void FindChains() {
    chain_.assign(fits_.size(), kNone);
    std::vector<std::pair<const std::vector<uint32_t>*, uint32_t>> links;
    for (uint32_t link = 0; link < fits_.size(); ++link) {
      if (!rows_of_[link].empty()) links.emplace_back(&rows_of_[link], link);
    }
    std::sort(links.begin(), links.end(), [](const auto& a, const auto& b) {
      return *a.first != *b.first ? *a.first < *b.first : a.second < b.second;
    });
    for (size_t i = 0; i < links.size(); ++i) {
      if (i == 0 || *links[i].first != *links[i - 1].first) chains_.emplace_back();
      chains_.back().push_back(links[i].second);
      chain_[links[i].second] = static_cast<uint32_t>(chains_.size() - 1);
    }
    for (const std::vector<uint32_t>& chain : chains_) {
      for (const uint32_t link : chain) {
        fits_[link].latency_doubt = chain.size() == 1 ? LatencyDoubt::kMeasured : LatencyDoubt::kShared;
      }
    }
  }

  // Returns the negative gradient at chain `c`, which is positive if the chain's latency should be longer.
  double Pull(uint32_t c) const {
    double pull = 0;
    for (const uint32_t r : rows_of_[chains_[c].front()]) pull += rows_[r].weight * rows_[r].residual_ns;
    return pull;
  }
  double Weights(uint32_t c) const {
    double weights = 0;
    for (const uint32_t r : rows_of_[chains_[c].front()]) weights += rows_[r].weight;
    return weights;
  }

  // Solves the normal equations by conjugate gradients with Jacobi's preconditioner; values of fixed chains stay.
  void Descend(const std::vector<std::vector<uint32_t>>& chains_of, const std::vector<bool>& fixed,
               std::vector<double>* value) {
    const size_t count = chains_.size();
    std::vector<double> pull(count), direction(count), along(rows_.size()), diagonal(count);
    for (uint32_t c = 0; c < count; ++c) diagonal[c] = Weights(c);
    double before = 0;
    for (size_t step = 0; step < std::min<size_t>(kStepsMax, 4 * count + 8); ++step) {
      double squares = 0, largest = 0;
      for (uint32_t c = 0; c < count; ++c) {
        pull[c] = fixed[c] ? 0 : Pull(c);
        squares += pull[c] * pull[c] / diagonal[c];
        largest = std::max(largest, std::abs(pull[c]) / diagonal[c]);
      }
      if (largest < kSettledNs) return;
      for (uint32_t c = 0; c < count; ++c) {
        direction[c] = pull[c] / diagonal[c] + (step == 0 ? 0 : squares / before * direction[c]);
      }
      before = squares;
      double curvature = 0;
      for (uint32_t r = 0; r < rows_.size(); ++r) {
        along[r] = 0;
        for (const uint32_t c : chains_of[r]) along[r] += direction[c];
        curvature += rows_[r].weight * along[r] * along[r];
      }
      if (!(curvature > 0)) return;
      const double length = squares / curvature;
      for (uint32_t c = 0; c < count; ++c) (*value)[c] += length * direction[c];
      for (uint32_t r = 0; r < rows_.size(); ++r) rows_[r].residual_ns -= length * along[r];
    }
  }

  // Runs coordinate descent, in which chains that were fixed at zero may grow again.
  void Polish(std::vector<double>* value) {
    for (int round = 0; round < kRoundsMax; ++round) {
      double moved = 0;
      for (uint32_t c = 0; c < chains_.size(); ++c) {
        const double step = std::max(Pull(c) / Weights(c), -(*value)[c]);
        (*value)[c] += step;
        for (const uint32_t r : rows_of_[chains_[c].front()]) rows_[r].residual_ns -= step;
        moved = std::max(moved, std::abs(step));
      }
      if (moved < kSettledNs) break;
    }
  }

  void SolveLatencies() {
    std::vector<double> value(chains_.size());
    std::vector<std::vector<uint32_t>> chains_of(rows_.size());
    for (uint32_t c = 0; c < chains_.size(); ++c) {
      for (const uint32_t r : rows_of_[chains_[c].front()]) chains_of[r].push_back(c);
    }
    // The start is an even share of the measurements, not the tree's figures, which may be far from the truth.
    for (uint32_t c = 0; c < chains_.size(); ++c) {
      double least = INFINITY;
      for (const uint32_t r : rows_of_[chains_[c].front()]) {
        least = std::min(least, rows_[r].latency_ns / static_cast<double>(chains_of[r].size()));
      }
      value[c] = least;
    }
    for (uint32_t r = 0; r < rows_.size(); ++r) {
      rows_[r].residual_ns = rows_[r].latency_ns;
      for (const uint32_t c : chains_of[r]) rows_[r].residual_ns -= value[c];
    }
    // Chains with a negative solution are fixed at zero, and the others are solved again.
    std::vector<bool> fixed(chains_.size());
    for (int round = 0; round < kFixRoundsMax; ++round) {
      Descend(chains_of, fixed, &value);
      bool any = false;
      for (uint32_t c = 0; c < chains_.size(); ++c) {
        if (fixed[c] || value[c] >= 0) continue;
        for (const uint32_t r : rows_of_[chains_[c].front()]) rows_[r].residual_ns += value[c];
        value[c] = 0;
        fixed[c] = any = true;
      }
      if (!any) break;
    }
    Polish(&value);
    value_ = std::move(value);
    chains_of_ = std::move(chains_of);
  }

  // Sets the weights of rows by Cauchy's rule: the longer a row is than fitted, the less it weighs. Returns false if no
  // row is much longer, or if there are too few rows to judge.
  bool DoubtLong() {
    if (rows_.size() <= chains_.size()) return false;
    std::vector<double> sizes;
    for (const Row& row : rows_) sizes.push_back(std::abs(row.residual_ns));
    const double usual = kUsual * Median(std::move(sizes));
    bool any = false;
    for (Row& row : rows_) {
      const double scale = usual + 1 / std::sqrt(row.full_weight);
      const double off = std::max(0.0, row.residual_ns) / scale;
      row.weight = row.full_weight / (1 + off * off);
      any = any || off > 1;
    }
    return any;
  }

  void SpreadLatencies() {
    for (uint32_t c = 0; c < chains_.size(); ++c) {
      double weights = 0, squares = 0, own = INFINITY;
      for (const uint32_t r : rows_of_[chains_[c].front()]) {
        weights += rows_[r].weight;
        squares += rows_[r].weight * rows_[r].residual_ns * rows_[r].residual_ns;
        own = std::min(own, static_cast<double>(rows_[r].measurement->latency_spread_ns));
      }
      double before = 0;
      for (const uint32_t link : chains_[c]) before += static_cast<double>(fits_[link].latency_ns);
      for (const uint32_t link : chains_[c]) {
        const double share = before > 0 ? static_cast<double>(fits_[link].latency_ns) / before
                                        : 1 / static_cast<double>(chains_[c].size());
        fits_[link].latency_spread_ns = std::llround(std::sqrt(squares / weights) + own);
        fits_[link].latency_ns = std::llround(value_[c] * share);
      }
    }
    // Single chains may still be undetermined, if a chain ends at a switch where fewer than three measured branches
    // meet, or if pairs are unmeasured.
    FindFreeLinks(chains_of_);
  }

  // Marks chains whose latency is not unique, since another choice gives the same sums on all measured paths. Uses
  // Gauss-Jordan elimination of the incidence of pairs and chains, and therefore does nothing for more than
  // kEliminatedMax chains, whose pairs SampleTree has selected such that they determine all that can be (sampling.h).
  void FindFreeLinks(const std::vector<std::vector<uint32_t>>& chains_of) {
    constexpr size_t kEliminatedMax = 600;
    const size_t columns = chains_.size();
    if (columns > kEliminatedMax) return;
    std::vector<std::vector<double>> basis;  // reduced rows, each with a pivot
    std::vector<size_t> pivots;
    for (const std::vector<uint32_t>& chains : chains_of) {
      std::vector<double> row(columns);
      for (const uint32_t c : chains) row[c] = 1;
      for (size_t b = 0; b < basis.size(); ++b) {
        const double factor = row[pivots[b]];
        if (factor == 0) continue;
        for (size_t c = 0; c < columns; ++c) row[c] -= factor * basis[b][c];
      }
      size_t pivot = 0;
      for (size_t c = 1; c < columns; ++c) {
        if (std::abs(row[c]) > std::abs(row[pivot])) pivot = c;
      }
      if (columns == 0 || std::abs(row[pivot]) < 1e-6) continue;
      const double scale = row[pivot];
      for (double& entry : row) entry /= scale;
      for (std::vector<double>& other : basis) {
        const double factor = other[pivot];
        if (factor == 0) continue;
        for (size_t c = 0; c < columns; ++c) other[c] -= factor * row[c];
      }
      basis.push_back(std::move(row));
      pivots.push_back(pivot);
    }
    // The chain of a pivot is determined if the pivot's row has no other entry.
    std::vector<bool> determined(columns);
    for (size_t b = 0; b < basis.size(); ++b) {
      bool alone = true;
      for (size_t c = 0; c < columns; ++c) alone = alone && (c == pivots[b] || std::abs(basis[b][c]) < 1e-6);
      determined[pivots[b]] = alone;
    }
    for (size_t c = 0; c < columns; ++c) {
      if (determined[c]) continue;
      for (const uint32_t link : chains_[c]) fits_[link].latency_doubt = LatencyDoubt::kShared;
    }
  }

  void BoundRates() {
    std::vector<double> least(fits_.size());
    for (const Row& row : rows_) {
      const auto rate = static_cast<double>(row.measurement->bandwidth_bytes_per_s);
      for (const uint32_t link : row.links) least[link] = std::max(least[link], rate);
    }
    for (uint32_t link = 0; link < fits_.size(); ++link) {
      if (least[link] <= 0) continue;
      fits_[link].bandwidth_bytes_per_s = std::llround(least[link]);
      fits_[link].rate_doubt = RateDoubt::kAtLeast;
    }
    for (const Row& row : rows_) {
      const auto rate = static_cast<double>(row.measurement->bandwidth_bytes_per_s);
      if (rate <= 0) continue;
      std::vector<uint32_t> slowest;
      for (const uint32_t link : row.links) {
        if (least[link] <= rate * (1 + kRateTie)) slowest.push_back(link);
      }
      for (const uint32_t link : slowest) {
        RateDoubt& doubt = fits_[link].rate_doubt;
        doubt = std::min(doubt, slowest.size() == 1 ? RateDoubt::kBottleneck : RateDoubt::kTied);
      }
    }
  }

  static constexpr uint32_t kNone = 0xffffffff;

  const topology::Topology& tree_;
  const LinkPaths paths_;
  std::vector<Row> rows_;
  std::vector<std::vector<uint32_t>> rows_of_;    // by link
  std::vector<LinkFit> fits_;                     // by link
  std::vector<uint32_t> chain_;                   // by link; kNone: unmeasured
  std::vector<std::vector<uint32_t>> chains_;     // links by chain
  std::vector<double> value_;                     // by chain: latency, in ns
  std::vector<std::vector<uint32_t>> chains_of_;  // by row
};

absl::Status CheckMeasurements(const topology::Topology& tree, absl::Span<const PairMeasurement> measurements) {
  for (const PairMeasurement& m : measurements) {
    const size_t nodes = tree.nodes().size();
    if (m.pair.a >= nodes || m.pair.b >= nodes || m.pair.a == m.pair.b) {
      return absl::InvalidArgumentError(
          absl::StrCat("measurement: pair (a=", m.pair.a, ", b=", m.pair.b, ", nodes=", nodes, ")"));
    }
    if (m.latency_ns < 0 || m.latency_spread_ns < 0 || m.bandwidth_bytes_per_s < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "measurement between ", tree.nodes()[m.pair.a].name, " and ", tree.nodes()[m.pair.b].name,
          ": negative (latency_ns=", m.latency_ns, ", bandwidth_bytes_per_s=", m.bandwidth_bytes_per_s, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

const char* LatencyDoubtName(LatencyDoubt doubt) {
  constexpr const char* kNames[] = {"measured", "shared", "unmeasured"};
  return kNames[static_cast<size_t>(doubt)];
}

const char* RateDoubtName(RateDoubt doubt) {
  constexpr const char* kNames[] = {"bottleneck", "tied", "at-least", "unmeasured"};
  return kNames[static_cast<size_t>(doubt)];
}

absl::StatusOr<TreeFit> FitTree(const topology::Topology& tree, absl::Span<const PairMeasurement> measurements) {
  RETURN_IF_ERROR(CheckMeasurements(tree, measurements));
  return Fitter(tree, measurements).Fit();
}

absl::StatusOr<std::vector<NodePair>> DoubtfulRates(const topology::Topology& tree,
                                                    absl::Span<const PairMeasurement> measurements) {
  RETURN_IF_ERROR(CheckMeasurements(tree, measurements));
  const LinkPaths paths(&tree);
  struct LinkRates {
    size_t witness = 0;             // index of the fastest measurement across the link
    int64_t fastest = 0, next = 0;  // the two highest bandwidths across the link
  };
  std::vector<LinkRates> links(paths.link_count());
  std::vector<uint32_t> crossed;
  for (size_t m = 0; m < measurements.size(); ++m) {
    const int64_t rate = measurements[m].bandwidth_bytes_per_s;
    paths.Between(measurements[m].pair, &crossed);
    for (const uint32_t l : crossed) {
      if (rate > links[l].fastest) {
        links[l] = {.witness = m, .fastest = rate, .next = links[l].fastest};
      } else {
        links[l].next = std::max(links[l].next, rate);
      }
    }
  }
  const auto faster = [](int64_t a, int64_t b) {
    return static_cast<double>(a) > static_cast<double>(b) * (1 + kRateTie);
  };
  std::vector<NodePair> pairs;
  for (size_t m = 0; m < measurements.size(); ++m) {
    const int64_t rate = measurements[m].bandwidth_bytes_per_s;
    if (rate == 0) continue;
    paths.Between(measurements[m].pair, &crossed);
    const bool alone = std::any_of(crossed.begin(), crossed.end(), [&](uint32_t l) {
      return links[l].witness == m && faster(links[l].fastest, links[l].next);
    });
    const bool explained =
        std::any_of(crossed.begin(), crossed.end(), [&](uint32_t l) { return !faster(links[l].fastest, rate); });
    if (alone || !explained) pairs.push_back(measurements[m].pair);
  }
  return pairs;
}

absl::StatusOr<topology::Topology> ApplyFit(const topology::Topology& tree, const TreeFit& fit) {
  std::vector<topology::Switch> switches = tree.switches();
  std::vector<topology::Node> nodes = tree.nodes();
  const auto apply = [](const LinkFit& link, auto* to) {
    // A topology has no links with zero latency.
    if (link.latency_doubt != LatencyDoubt::kUnmeasured) to->latency_ns = std::max<int64_t>(1, link.latency_ns);
    if (link.rate_doubt != RateDoubt::kUnmeasured) to->bandwidth_bytes_per_s = link.bandwidth_bytes_per_s;
  };
  for (size_t s = 0; s < switches.size(); ++s) {
    if (s != tree.root_switch()) apply(fit.switches[s], &switches[s]);
  }
  for (size_t n = 0; n < nodes.size(); ++n) apply(fit.nodes[n], &nodes[n]);
  return topology::Topology::Create(std::move(switches), std::move(nodes), tree.costs());
}

}  // namespace copse::measure
