// SPDX-License-Identifier: Apache-2.0
//
// What was found of two ways to make calls, and for how long that holds.
#ifndef COPSE_CLIENT_TNBC_VERDICT_H_
#define COPSE_CLIENT_TNBC_VERDICT_H_

#include <algorithm>
#include <cstdint>

namespace copse::tnbc {

// Whether calls of a kind are better made in the plain way than in the other, by which they return early. It holds for
// 64 calls, and twice as many each time that it comes out the same, up to 4096.
class Verdict {
 public:
  // By what calls cost. The other way has to save a fiftieth to be worth what it costs others: copies, faults, a
  // thread.
  static bool IsPlainBetter(double other, double plain) { return other > 0.98 * plain; }

  void Find(bool is_plain) {
    interval_ = is_plain == is_plain_ ? std::clamp(2 * interval_, kCallsMin, kCallsMax) : kCallsMin;
    is_plain_ = is_plain;
    left_ = interval_;
  }
  // It is to be found anew.
  void Drop() { left_ = 0; }

  bool holds() const { return left_ > 0; }
  void CountCall() { --left_; }
  // As was found last; not plain before.
  bool is_plain() const { return is_plain_; }

 private:
  static constexpr uint64_t kCallsMin = 64, kCallsMax = 4096;

  uint64_t left_ = 0, interval_ = 0;  // calls
  bool is_plain_ = false;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_VERDICT_H_
