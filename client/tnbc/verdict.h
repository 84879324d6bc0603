// SPDX-License-Identifier: Apache-2.0
//
// Holds the outcome of comparing two ways to make calls, and how long it is valid.
#ifndef COPSE_CLIENT_TNBC_VERDICT_H_
#define COPSE_CLIENT_TNBC_VERDICT_H_

#include <algorithm>
#include <cstdint>

namespace copse::tnbc {

// A Verdict says whether calls of a kind are made in the plain way, or in the other one, which lets them return early.
// It is valid for 64 calls, and for twice as many each time that the outcome stays the same, up to 4096.
class Verdict {
 public:
  // Compares the costs of calls made in each way. The other way has to save a fiftieth, since it also has costs that
  // are not measured: copies, page faults, a thread.
  static bool IsPlainBetter(double other, double plain) { return other > 0.98 * plain; }

  // Sets the outcome, for a number of calls.
  void Find(bool is_plain) {
    interval_ = is_plain == is_plain_ ? std::clamp(2 * interval_, kCallsMin, kCallsMax) : kCallsMin;
    is_plain_ = is_plain;
    left_ = interval_;
  }
  // Ends the verdict, so that it has to be found again.
  void Drop() { left_ = 0; }

  bool holds() const { return left_ > 0; }
  // Requires holds().
  void CountCall() { --left_; }
  // Returns the latest outcome; false before the first.
  bool is_plain() const { return is_plain_; }

 private:
  static constexpr uint64_t kCallsMin = 64, kCallsMax = 4096;

  uint64_t left_ = 0, interval_ = 0;  // calls
  bool is_plain_ = false;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_VERDICT_H_
