// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/access_order.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace copse::tnbc {
namespace {

// Up to call kOftenUntil the ranks agree at every second call: a wait for a fragment only shows that this fragment is
// wanted before others, so several calls are needed to find an order.
constexpr uint64_t kOftenUntil = 16, kCallsBetweenMin = 2;
// The ranks agree at the latest after this many calls. Each agreement takes two short allreduces, and detects if a
// program has changed its order of accesses.
constexpr uint64_t kCallsBetweenMax = 256;
// A period counts only if the sites repeat over two periods, and over this many calls.
constexpr uint64_t kSeenMin = 4;

std::vector<uint32_t> AsNumbered(uint32_t fragments) {
  std::vector<uint32_t> order(fragments);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

void AccessOrder::SetFragments(uint32_t fragments) {
  if (fragments_ == fragments) return;
  fragments_ = fragments;
  orders_ = {AsNumbered(fragments)};
  wanted_.clear();
}

bool AccessOrder::BeginCall(const void* site) {
  history_[calls_ % kHistory] = site;
  if (++calls_ < agree_at_) return false;
  agree_at_ = calls_ + (calls_ < kOftenUntil ? kCallsBetweenMin : std::min(calls_, kCallsBetweenMax));
  return true;
}

const std::vector<uint32_t>& AccessOrder::OrderAt(uint64_t call) const {
  return orders_[(call - first_) % orders_.size()];
}

const std::vector<uint32_t>& AccessOrder::order() const { return OrderAt(calls_); }

void AccessOrder::Learn(const void* site, std::span<const uint32_t> order, std::span<const Access> accesses) {
  if (order.size() != fragments_) return;  // a call made before SetFragments changed the number
  if (wanted_.size() >= kSitesMax && !wanted_.contains(site)) return;
  std::vector<uint32_t> wanted(order.begin(), order.end());
  size_t next = 0;  // the position after the fragments of earlier accesses
  for (const Access& access : accesses) {
    const auto found = std::find(wanted.begin(), wanted.end(), access.fragment);
    if (found == wanted.end()) continue;
    const auto at = static_cast<size_t>(found - wanted.begin());
    if (at < next) continue;
    size_t to = std::max<size_t>(next, access.fragments_there);
    // The fragment had this place already but was waited for, so the one before it may not be wanted as early.
    if (to >= at) to = at > next ? at - 1 : at;
    std::rotate(wanted.begin() + static_cast<std::ptrdiff_t>(to), found, found + 1);
    next = to + 1;
  }
  wanted_[site] = std::move(wanted);
}

uint32_t AccessOrder::Period() const {
  const uint64_t known = std::min<uint64_t>(calls_, kHistory);
  for (uint32_t period = 1; period <= kPeriodMax; ++period) {
    const uint64_t seen = std::max<uint64_t>(2 * period, kSeenMin);
    if (seen > known) break;
    uint64_t back = 0;
    while (back + period < seen && SiteBefore(back) == SiteBefore(back + period)) ++back;
    if (back + period == seen) return period;
  }
  return 1;
}

std::vector<uint64_t> AccessOrder::Positions(uint32_t period) const {
  std::vector<uint64_t> positions(size_t{period} * fragments_);
  for (uint32_t i = 0; i < period; ++i) {
    // Call i of the period is expected at the site of the call one period before it.
    const bool is_known = i == 0 || calls_ > period - i;
    const auto found = is_known ? wanted_.find(SiteBefore(i == 0 ? 0 : period - i)) : wanted_.end();
    const std::vector<uint32_t>& wanted = found != wanted_.end() ? found->second : OrderAt(calls_ + i);
    for (uint32_t at = 0; at < fragments_; ++at) positions[size_t{i} * fragments_ + wanted[at]] = at;
  }
  return positions;
}

void AccessOrder::Adopt(uint32_t period, std::span<const uint64_t> sums) {
  std::vector<std::vector<uint32_t>> orders;
  for (uint32_t i = 0; i < period; ++i) {
    // stable_sort: fragments with equal sums keep their present order.
    std::vector<uint32_t> order = OrderAt(calls_ + i);
    const auto sum = [&](uint32_t fragment) { return sums[size_t{i} * fragments_ + fragment]; };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return sum(a) < sum(b); });
    orders.push_back(std::move(order));
  }
  orders_ = std::move(orders);
  first_ = calls_;
}

}  // namespace copse::tnbc
