// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/late_failure.h"

#include <stdio.h>

#include <atomic>

namespace copse::tnbc {
namespace {

char text[640];
std::atomic<bool> is_taken{false}, is_there{false};

}  // namespace

void NoteLateFailure(const char* call, const char* why) {
  if (is_taken.exchange(true, std::memory_order_relaxed)) return;
  snprintf(text, sizeof(text), "%s: %s", call, why);
  is_there.store(true, std::memory_order_release);  // pairs with DescribeLateFailure, which reads `text`
}

const char* DescribeLateFailure() {
  // Acquire: pairs with NoteLateFailure.
  return is_there.load(std::memory_order_acquire) ? text : "a call that returned early has failed since";
}

}  // namespace copse::tnbc
