// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/flight_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace copse::emu {
namespace {

constexpr absl::Duration kStep = absl::Microseconds(10);

struct Path {
  double rate;  // bytes per second
  absl::Duration rtt;
  absl::Duration late;  // from the moment when a third of the window is free until it is filled again
};

// A writer that always has data, on a path of one queue.
class Writer {
 public:
  // Returns the share of the path's rate that was used.
  double Write(const Path& path, FlightWindow* window, absl::Duration lasts) {
    const double before = acknowledged_;
    for (const absl::Time end = now_ + lasts; now_ < end; now_ += kStep) {
      const double goes =
          std::min(path.rate, under_way_ / absl::ToDoubleSeconds(path.rtt)) * absl::ToDoubleSeconds(kStep);
      acknowledged_ += goes;
      under_way_ -= goes;
      if (under_way_ > 2.0 / 3 * static_cast<double>(window->bytes())) {
        has_room_ = now_;
      } else if (now_ - has_room_ >= path.late) {
        const bool decides =
            window->OnWrite(now_, static_cast<uint64_t>(acknowledged_), static_cast<uint64_t>(under_way_));
        if (decides) window->Adapt(path.rtt);
        under_way_ = std::max(under_way_, static_cast<double>(window->bytes()));
      }
    }
    return (acknowledged_ - before) / (path.rate * absl::ToDoubleSeconds(lasts));
  }

 private:
  absl::Time now_ = absl::UnixEpoch();
  absl::Time has_room_ = now_;
  double acknowledged_ = 0, under_way_ = 0;
};

TEST(FlightWindowTest, IsShortOnASlowPath) {
  FlightWindow window;
  Writer writer;
  Path path{.rate = 25e6, .rtt = absl::Microseconds(100), .late = absl::Microseconds(50)};
  writer.Write(path, &window, absl::Seconds(2));
  EXPECT_GT(writer.Write(path, &window, absl::Seconds(1)), 0.99);
  EXPECT_EQ(window.bytes(), FlightWindow::kBytesMin);
}

TEST(FlightWindowTest, GrowsToTheProductOfRateAndRoundTrip) {
  FlightWindow window;
  Writer writer;
  Path path{.rate = 125e6, .rtt = absl::Milliseconds(10), .late = absl::Microseconds(50)};
  writer.Write(path, &window, absl::Seconds(2));
  EXPECT_GT(writer.Write(path, &window, absl::Seconds(1)), 0.9);
  EXPECT_GE(window.bytes(), 1250000u);
  EXPECT_LE(window.bytes(), 4u * 1250000u);
}

TEST(FlightWindowTest, GrowsForAWriterThatIsLate) {
  FlightWindow window;
  Writer writer;
  Path path{.rate = 125e6, .rtt = absl::Microseconds(100), .late = absl::Milliseconds(4)};
  writer.Write(path, &window, absl::Seconds(2));
  EXPECT_GT(writer.Write(path, &window, absl::Seconds(1)), 0.9);
  EXPECT_LE(window.bytes(), 2'000'000u);
}

TEST(FlightWindowTest, IsNotDisplacedByOthersThatFillTheQueue) {
  FlightWindow window;
  Writer writer;
  Path path{.rate = 125e6, .rtt = absl::Microseconds(100), .late = absl::Microseconds(50)};
  writer.Write(path, &window, absl::Seconds(2));
  const size_t alone = window.bytes();
  // What is under way waits behind others'.
  path.rate = 12.5e6;
  writer.Write(path, &window, absl::Seconds(1));
  EXPECT_GT(window.bytes(), 8 * alone);
}

TEST(FlightWindowTest, IsShortAgainAfterThePathHasBecomeSlow) {
  FlightWindow window;
  Writer writer;
  Path path{.rate = 125e6, .rtt = absl::Microseconds(100), .late = absl::Microseconds(50)};
  writer.Write(path, &window, absl::Seconds(2));
  path.rate = 12.5e6;
  writer.Write(path, &window, absl::Seconds(20));
  EXPECT_EQ(window.bytes(), FlightWindow::kBytesMin);
}

TEST(FlightWindowTest, PausesOfTheWriterDoNotCount) {
  FlightWindow window;
  absl::Time now = absl::UnixEpoch();
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(window.OnWrite(now, 0, 0));
    window.OnIdle();
  }
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(window.OnWrite(now, 0, 0));
  EXPECT_TRUE(window.OnWrite(now, 0, 0));
}

}  // namespace
}  // namespace copse::emu
