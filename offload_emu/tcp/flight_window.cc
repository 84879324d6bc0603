// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/flight_window.h"

#include <algorithm>
#include <utility>

namespace copse::emu {
namespace {

// A path whose rate is below this share of the best one has slowed down, or is used by others.
constexpr double kSlow = 0.75;

}  // namespace

bool FlightWindow::OnWrite(absl::Time now, uint64_t acknowledged, uint64_t under_way) {
  if (is_full_) {
    full_time_ += now - last_;
    full_bytes_ += acknowledged - last_acknowledged_;
    under_way_[samples_++] = under_way;
  }
  is_full_ = true;
  last_ = now;
  last_acknowledged_ = acknowledged;
  return samples_ == kSamples;
}

void FlightWindow::NoteRate(double rate) {
  best_ = std::max(best_, rate);
  if (last_ - best_since_ < kBestKept) return;
  best_since_ = last_;
  best_before_ = std::exchange(best_, rate);
}

void FlightWindow::Adapt(absl::Duration rtt_min) {
  const double rate = static_cast<double>(full_bytes_) / std::max(absl::ToDoubleSeconds(full_time_), 1e-6);
  // So much is under way on an empty path without any queue.
  const auto needed = static_cast<uint64_t>(rate * absl::ToDoubleSeconds(rtt_min));
  const auto last = under_way_.begin() + static_cast<std::ptrdiff_t>(samples_);
  const auto dry = std::count_if(under_way_.begin(), last, [=](uint64_t bytes) { return bytes <= needed; });
  NoteRate(rate);
  const bool is_slow = rate < kSlow * std::max(best_, best_before_);
  if (2 * dry >= static_cast<std::ptrdiff_t>(samples_)) {
    bytes_ *= 2;
  } else if (dry > 1 || is_slow) {
    bytes_ += bytes_ / 4;
  } else if (dry == 0) {
    bytes_ -= std::min<uint64_t>(bytes_ / 2, (*std::min_element(under_way_.begin(), last) - needed) / 2);
  }
  bytes_ = std::clamp(bytes_, kBytesMin, kBytesMax);
  samples_ = 0;
  full_time_ = absl::ZeroDuration();
  full_bytes_ = 0;
}

}  // namespace copse::emu
