// SPDX-License-Identifier: Apache-2.0
//
// The order in which a program wants the fragments of a result, learnt from its accesses to data that was not there
// yet.
#ifndef COPSE_CLIENT_TNBC_ACCESS_ORDER_H_
#define COPSE_CLIENT_TNBC_ACCESS_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace copse::tnbc {

// The orders of calls of one kind (Li et al., T-NBC: priorities follow the order of accesses). Each rank learns by
// itself, for each place in the program that makes such calls, but no rank knows at which one the others are, and an
// order has to be the same everywhere. So orders go by a call's number: places mostly take turns in a period, which the
// ranks agree upon now and then, together with an order for each call of it. Where a rank's places come otherwise,
// fragments come in an order that suits it less. Thread-compatible.
class AccessOrder {
 public:
  // The longest period, in calls, after which places come again; longer ones are not found.
  static constexpr uint32_t kPeriodMax = 16;

  // As the fragments are numbered, until something else is agreed upon. Another number of fragments begins anew.
  void SetFragments(uint32_t fragments);

  // Counts a call, which is made at `site`; the number of calls is the same on all ranks. Returns true if they are to
  // agree before it.
  bool BeginCall(const void* site);
  // That call's order: first the fragment to be brought first; the same on all ranks.
  const std::vector<uint32_t>& order() const;

  // Takes the accesses that waited in one call from `site` that had `order`, first accesses first. A fragment that was
  // accessed when others had come belongs behind these, whose accesses are not seen, and before those that had not
  // come. A fragment in that place that was waited for all the same goes one further: the next call shows whether that
  // was worse.
  struct Access {
    uint32_t fragment = 0;
    uint32_t fragments_there = 0;  // at that time
  };
  void Learn(const void* site, std::span<const uint32_t> order, std::span<const Access> accesses);

  // To agree: the period that this rank sees; 1 if none.
  uint32_t Period() const;
  // For each call of a period that all have, beginning with this one, and by fragment: where this rank wants it.
  std::vector<uint64_t> Positions(uint32_t period) const;
  // Sums over ranks of these: what they want first comes first.
  void Adopt(uint32_t period, std::span<const uint64_t> sums);

 private:
  static constexpr size_t kSitesMax = 256;  // beyond, what they want is not kept
  static constexpr size_t kHistory = 2 * kPeriodMax;

  const std::vector<uint32_t>& OrderAt(uint64_t call) const;
  // The site of the call made that many calls before the last one.
  const void* SiteBefore(uint64_t calls) const { return history_[(calls_ - 1 - calls) % kHistory]; }

  uint32_t fragments_ = 0;
  std::vector<std::vector<uint32_t>> orders_;  // of a period
  uint64_t first_ = 1;                         // the call that has the first of them
  uint64_t calls_ = 0;
  uint64_t agree_at_ = 2;
  const void* history_[kHistory] = {};
  std::map<const void*, std::vector<uint32_t>> wanted_;  // by this rank
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_ACCESS_ORDER_H_
