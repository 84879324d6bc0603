// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/access_order.h"

#include <algorithm>
#include <numeric>

namespace copse::tnbc {
namespace {

// Programs that change their ways are followed, at a cost of a short call in so many.
constexpr uint64_t kCallsBetweenMax = 256;

}  // namespace

void AccessOrder::SetParts(uint32_t parts) {
  if (order_.size() == parts) return;
  order_.resize(parts);
  std::iota(order_.begin(), order_.end(), 0);
  wanted_ = order_;
}

void AccessOrder::Learn(std::span<const Touch> touches) {
  std::vector<uint32_t> wanted = order_;
  size_t next = 0;
  for (const Touch& touch : touches) {
    next = std::max<size_t>(next, touch.parts_there);
    const auto found = std::find(wanted.begin(), wanted.end(), touch.part);
    if (found == wanted.end()) continue;
    const auto at = static_cast<size_t>(found - wanted.begin());
    if (at > next) std::rotate(wanted.begin() + static_cast<std::ptrdiff_t>(next), found, found + 1);
    if (at >= next) ++next;
  }
  wanted_ = std::move(wanted);
}

bool AccessOrder::CountCall() {
  if (++calls_ < agree_at_) return false;
  agree_at_ = calls_ + std::min(calls_, kCallsBetweenMax);
  return true;
}

std::vector<uint64_t> AccessOrder::Positions() const {
  std::vector<uint64_t> positions(wanted_.size());
  for (size_t i = 0; i < wanted_.size(); ++i) positions[wanted_[i]] = i;
  return positions;
}

void AccessOrder::Adopt(std::span<const uint64_t> sums) {
  std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return sums[a] < sums[b]; });
}

}  // namespace copse::tnbc
