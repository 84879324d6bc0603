// SPDX-License-Identifier: Apache-2.0
//
// Compares secrets in constant time, and wipes them.

#ifndef COPSE_BASE_SECRET_H_
#define COPSE_BASE_SECRET_H_

#include <string.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace copse {

// Returns whether the two are equal. The time depends on the lengths only, not on where the two differ.
inline bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = difference | static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

// Overwrites the text with zeros before it is cleared. Copies that were made of it stay.
inline void Wipe(std::string* secret) {
  explicit_bzero(secret->data(), secret->size());
  secret->clear();
}

}  // namespace copse

#endif  // COPSE_BASE_SECRET_H_
