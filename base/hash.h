// SPDX-License-Identifier: Apache-2.0
//
// Defines hashes that are part of formats: they are the same on every platform and must never change. For hash tables
// use absl::Hash.

#ifndef COPSE_BASE_HASH_H_
#define COPSE_BASE_HASH_H_

#include <cstdint>
#include <string_view>

namespace copse {

inline constexpr uint64_t kFnv1a64Seed = 0xcbf29ce484222325;

// Returns the FNV-1a hash of `bytes`. To hash in several steps, pass the result of each step as the next one's `seed`.
constexpr uint64_t Fnv1a64(std::string_view bytes, uint64_t seed = kFnv1a64Seed) {
  uint64_t hash = seed;
  for (const char c : bytes) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

// Maps 64-bit values one to one, so that every output bit depends on every input bit (splitmix64's finalizer).
constexpr uint64_t Mix64(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Reduces a hash, even a weak one, to 16 bits.
constexpr uint16_t Fold16(uint64_t hash) {
  hash = Mix64(hash);
  return static_cast<uint16_t>(hash ^ (hash >> 16) ^ (hash >> 32) ^ (hash >> 48));
}

}  // namespace copse

#endif  // COPSE_BASE_HASH_H_
