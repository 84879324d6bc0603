// SPDX-License-Identifier: Apache-2.0
//
// In which order a program wants the parts of a result, learnt from what it has touched before it was there.
#ifndef COPSE_CLIENT_TNBC_ACCESS_ORDER_H_
#define COPSE_CLIENT_TNBC_ACCESS_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

namespace copse::tnbc {

// The order of calls of one kind (Li et al., T-NBC: priorities follow the order of accesses). Each rank learns by
// itself; now and then all agree: Positions go around, and their sums, equal everywhere, are given to Adopt.
// Thread-compatible.
class AccessOrder {
 public:
  // As the parts are numbered, until something else is agreed upon. Another number of parts begins anew.
  void SetParts(uint32_t parts);
  // First the one to be brought first; the same on all ranks.
  const std::vector<uint32_t>& order() const { return order_; }

  // What was waited for in one call that had order(), first touches first. Who is touched when others had come belongs
  // behind these, whose touches nobody has seen, and before those that had not.
  struct Touch {
    uint32_t part = 0;
    uint32_t parts_there = 0;  // at that time
  };
  void Learn(std::span<const Touch> touches);

  // Counts a call; the same on all ranks. True if they are to agree before it.
  bool CountCall();
  // By part: where this rank wants it.
  std::vector<uint64_t> Positions() const;
  // Sums over ranks: what they want first comes first.
  void Adopt(std::span<const uint64_t> sums);

 private:
  std::vector<uint32_t> order_;
  std::vector<uint32_t> wanted_;  // by this rank
  uint64_t calls_ = 0;
  uint64_t agree_at_ = 2;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_ACCESS_ORDER_H_
