// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/measurement.h"

#include <cstddef>

#include "base/status_macros.h"
#include "cli/perftest/caller.h"
#include "cli/perftest/clock.h"

namespace copse::perftest {
namespace {

// Times holds this rank's times of a cell's measured calls, in microseconds.
struct Times {
  std::vector<double> overall, compute;
};

class Measurement {
 public:
  Measurement(Session* session, const Options& options, Collective collective, uint64_t count, Computation* computation)
      : session_(session),
        options_(options),
        caller_(session, &options, collective, count),
        iterations_(options.RepetitionsOf(count).iterations),
        warmup_(options.RepetitionsOf(count).warmup),
        computation_(computation) {
    cell_.collective = collective;
    cell_.count = count;
    cell_.bytes = count * ElementBytes(options.type);
    cell_.runs = iterations_;
  }

  absl::StatusOr<Cell> Run() {
    const absl::Status allocated = caller_.Allocate();
    std::vector<double> refused = {allocated.ok() ? 0.0 : 1.0};
    RETURN_IF_ERROR(session_->Combine(COPSE_OP_MAX, &refused));
    if (refused[0] > 0) {
      cell_.runs = 0;
      cell_.refused = allocated.ok() ? "another rank's library refuses it" : std::string(allocated.message());
      return cell_;
    }
    if (options_.mode == Mode::kOverlap) {
      RETURN_IF_ERROR(MeasureOverlap());
    } else {
      ASSIGN_OR_RETURN(const Times times, Loop(0));
      RETURN_IF_ERROR(AddMetric("latency", times.overall).status());
      const double mean_us = cell_.metrics[0].ranks.avg;
      const double factor = BusFactor(cell_.collective, session_->ranks());
      if (HasData(cell_.collective) && mean_us > 0) {
        cell_.bandwidth_mb_s = factor * static_cast<double>(cell_.bytes) / mean_us;
      }
    }
    if (options_.check) RETURN_IF_ERROR(GatherErrors());
    return cell_;
  }

 private:
  // Makes the warm-up calls and then the measured ones, each with `rounds` rounds of computation. Returns the times of
  // the measured ones.
  absl::StatusOr<Times> Loop(uint64_t rounds) {
    Times times;
    times.overall.reserve(iterations_);
    times.compute.reserve(iterations_);
    for (uint64_t i = 0; i < uint64_t{warmup_} + iterations_; ++i, ++call_) {
      CallTime time;
      RETURN_IF_ERROR(caller_.Prepare(call_));
      RETURN_IF_ERROR(caller_.Call(computation_, rounds, &time));
      if (options_.check) errors_ += caller_.Verify(call_);
      if (i < warmup_) continue;
      times.overall.push_back(ToUs(time.overall_ns));
      times.compute.push_back(ToUs(time.compute_ns));
    }
    return times;
  }

  // Follows the OSU micro-benchmarks: first measures calls without computation, then calls with a computation that
  // takes as long as the mean call.
  absl::Status MeasureOverlap() {
    ASSIGN_OR_RETURN(const Times alone, Loop(0));
    std::vector<double> communication = {Mean(alone.overall)};
    RETURN_IF_ERROR(session_->Combine(COPSE_OP_SUM, &communication));
    communication[0] /= session_->ranks();
    ASSIGN_OR_RETURN(const Times both, Loop(computation_->RoundsFor(communication[0])));

    ASSIGN_OR_RETURN(const std::vector<double> overall, AddMetric("overall", both.overall));
    ASSIGN_OR_RETURN(const std::vector<double> compute, AddMetric("compute", both.compute));
    RETURN_IF_ERROR(AddMetric("communication", alone.overall).status());
    std::vector<double> of_calls(overall.size());
    for (size_t i = 0; i < overall.size(); ++i) {
      of_calls[i] = OverlapPercent(overall[i], compute[i], communication[0]);
    }
    Metric overlap{.name = "overlap", .unit = "percent"};
    overlap.calls = PercentilesOf(std::move(of_calls));
    RETURN_IF_ERROR(
        SpreadOf(OverlapPercent(Mean(both.overall), Mean(both.compute), Mean(alone.overall)), &overlap.ranks));
    // The OSU benchmarks take the overlap of the means, not the mean of the ranks' overlaps.
    overlap.ranks.avg = OverlapPercent(cell_.metrics[0].ranks.avg, cell_.metrics[1].ranks.avg, communication[0]);
    cell_.metrics.push_back(overlap);
    return absl::OkStatus();
  }

  // Adds a metric to the cell. Returns the time of each call on its slowest rank.
  absl::StatusOr<std::vector<double>> AddMetric(const char* name, const std::vector<double>& mine_us) {
    Metric metric{.name = name, .unit = "us"};
    RETURN_IF_ERROR(SpreadOf(Mean(mine_us), &metric.ranks));
    std::vector<double> slowest = mine_us;
    RETURN_IF_ERROR(session_->Combine(COPSE_OP_MAX, &slowest));
    metric.calls = PercentilesOf(slowest);
    cell_.metrics.push_back(metric);
    return slowest;
  }

  absl::Status SpreadOf(double mine, Spread* spread) {
    std::vector<double> sum = {mine}, least_and_most = {mine, -mine};
    RETURN_IF_ERROR(session_->Combine(COPSE_OP_SUM, &sum));
    RETURN_IF_ERROR(session_->Combine(COPSE_OP_MIN, &least_and_most));
    *spread = {.avg = sum[0] / session_->ranks(), .min = least_and_most[0], .max = -least_and_most[1]};
    return absl::OkStatus();
  }

  absl::Status GatherErrors() {
    std::vector<double> sum = {static_cast<double>(errors_)};
    std::vector<double> first = {static_cast<double>(errors_ > 0 ? session_->rank() : session_->ranks())};
    RETURN_IF_ERROR(session_->Combine(COPSE_OP_SUM, &sum));
    RETURN_IF_ERROR(session_->Combine(COPSE_OP_MIN, &first));
    cell_.errors = static_cast<uint64_t>(sum[0]);
    cell_.first_rank_with_errors = static_cast<uint32_t>(first[0]);
    return absl::OkStatus();
  }

  Session* const session_;
  const Options& options_;
  Caller caller_;
  const uint32_t iterations_, warmup_;
  Computation* const computation_;
  Cell cell_;
  uint64_t call_ = 0;
  uint64_t errors_ = 0;
};

}  // namespace

absl::StatusOr<Cell> Measure(Session* session, const Options& options, Collective collective, uint64_t count,
                             Computation* computation) {
  return Measurement(session, options, collective, count, computation).Run();
}

}  // namespace copse::perftest
