// SPDX-License-Identifier: Apache-2.0
//
// Learns the order in which a program accesses the fragments of results, so that later calls receive them in that
// order.
#ifndef COPSE_CLIENT_TNBC_ACCESS_ORDER_H_
#define COPSE_CLIENT_TNBC_ACCESS_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace copse::tnbc {

// An AccessOrder holds the orders in which calls of one kind receive their fragments, learned from accesses that waited
// for data (Li et al., T-NBC: priorities follow the order of accesses). Each rank learns an order for each of its call
// sites. In one call all ranks must use the same order, but no rank knows the call sites of the others. So orders are
// kept by the number of the call: if the sites repeat with a period, the ranks agree from time to time on this period
// and on an order for each call of it. A rank whose sites do not repeat may get orders that suit it less.
// Thread-compatible.
class AccessOrder {
 public:
  // Periods of call sites up to this many calls are detected.
  static constexpr uint32_t kPeriodMax = 16;

  // Sets the number of fragments of the next calls; required before order(). If the number changes, what was learned is
  // discarded, and fragments are received in the order of their numbers until the next Adopt.
  void SetFragments(uint32_t fragments);

  // Counts a call, which is made at `site`; all ranks count the same calls. Returns whether the ranks have to agree
  // before it: on Period, then by Positions and Adopt.
  bool BeginCall(const void* site);
  // Returns the order of the latest counted call: its first fragment is to be received first. Equal on all ranks.
  const std::vector<uint32_t>& order() const;

  // Learns from the accesses that waited for data in one call from `site`, given in the order of the accesses; `order`
  // is the order of that call's fragments. A fragment that was accessed is moved ahead: behind those that had arrived,
  // since accesses to them are not seen, and before those that had not. If it has this place already, it is moved one
  // further ahead; the next call shows whether that is better. Ignores calls with another number of fragments, and new
  // sites beyond kSitesMax.
  struct Access {
    uint32_t fragment = 0;
    uint32_t fragments_there = 0;  // fragments that had arrived before the access
  };
  void Learn(const void* site, std::span<const uint32_t> order, std::span<const Access> accesses);

  // Returns the period, in calls, with which this rank's latest call sites repeat; 1 if they do not.
  uint32_t Period() const;
  // Returns the position at which this rank wants each fragment, for each of `period` calls beginning with the latest
  // counted one: [call * fragments + fragment].
  std::vector<uint64_t> Positions(uint32_t period) const;
  // Sets the orders of these calls, and of all later ones with that period: a fragment is the earlier, the less its
  // value in `sums`, the sums of all ranks' Positions. Fragments with equal sums keep their present order.
  void Adopt(uint32_t period, std::span<const uint64_t> sums);

 private:
  static constexpr size_t kSitesMax = 256;  // limit of the sites in wanted_
  static constexpr size_t kHistory = 2 * kPeriodMax;

  const std::vector<uint32_t>& OrderAt(uint64_t call) const;
  // Returns the site of the call made `calls` calls before the latest one.
  const void* SiteBefore(uint64_t calls) const { return history_[(calls_ - 1 - calls) % kHistory]; }

  uint32_t fragments_ = 0;
  std::vector<std::vector<uint32_t>> orders_;  // by call of the period
  uint64_t first_ = 1;                         // number of the call that has orders_[0]
  uint64_t calls_ = 0;
  uint64_t agree_at_ = 2;
  const void* history_[kHistory] = {};
  std::map<const void*, std::vector<uint32_t>> wanted_;  // by call site: the order that this rank wants
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_ACCESS_ORDER_H_
