// SPDX-License-Identifier: Apache-2.0
#include "bench/taking.h"

#include <gtest/gtest.h>

#include <map>

namespace copse::bench {
namespace {

// A cell's sample is its number.
class Numbers final : public Contender {
 public:
  std::string system_name() const override { return "numbers"; }
  absl::Status Measure(const std::vector<size_t>& cells, const Report& report) override {
    for (const size_t cell : cells) report(cell, {static_cast<double>(cell)});
    return absl::OkStatus();
  }
};

struct Result {
  absl::Status status;
  std::map<size_t, std::vector<double>> samples;
};

Result MeasureThree(Taking::Take take) {
  Numbers numbers;
  Taking taking(&numbers, std::move(take));
  Result result;
  result.status = taking.Measure(
      {1, 2, 3}, [&](size_t cell, std::vector<double> samples) { result.samples[cell] = std::move(samples); });
  return result;
}

TEST(TakingTest, PassesOnWhatIsMadeOfSamples) {
  const Result result = MeasureThree([](size_t cell, std::vector<double> samples) {
    return std::vector<double>{samples[0] * 10, double(cell)};
  });
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.samples, (std::map<size_t, std::vector<double>>{{1, {10, 1}}, {2, {20, 2}}, {3, {30, 3}}}));
  EXPECT_EQ(MeasureThree(nullptr).samples.size(), 3u);
}

TEST(TakingTest, WhatIsRefusedIsTheCellsError) {
  const Result result =
      MeasureThree([](size_t cell, std::vector<double> samples) -> absl::StatusOr<std::vector<double>> {
        if (cell == 2) return absl::DataLossError("other results");
        return samples;
      });
  EXPECT_EQ(result.status, absl::DataLossError("other results"));
  EXPECT_EQ(result.samples, (std::map<size_t, std::vector<double>>{{1, {1}}}));
}

}  // namespace
}  // namespace copse::bench
