// SPDX-License-Identifier: Apache-2.0
//
// Computes the sum that authenticates a message of AES-GCM.
#ifndef COPSE_OFFLOAD_EMU_TCP_GHASH_H_
#define COPSE_OFFLOAD_EMU_TCP_GHASH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace copse::emu {

// A Ghash sums messages under one hash key, by the processor's multiplication of polynomials: twice as fast over long
// messages as OpenSSL 3.0, which knows no AVX-512 for it, and without its cost of some 200 ns a message. Its time
// depends on lengths alone. It is wiped when it is destroyed. Thread-compatible.
//
// Source:  NIST SP 800-38D, sections 6.3 and 6.4; Gueron, Kounavis, "Intel Carry-Less Multiplication Instruction and
//          its Usage for Computing the GCM Mode" (2014): the key is shifted by one bit, and 32 blocks are multiplied
//          by the key's powers and reduced together.
class Ghash {
 public:
  static constexpr size_t kBlockBytes = 16;
  static constexpr size_t kPowers = 32;
  using Block = std::array<uint8_t, kBlockBytes>;

  // Returns whether this processor has the instructions; no Ghash may be made without.
  static bool IsSupported();
  // `wide`: 512 bits at once, which IsWideSupported() must allow.
  static bool IsWideSupported();
  explicit Ghash(const Block& hash_key, bool wide = IsWideSupported());
  Ghash(const Ghash&) = delete;
  Ghash& operator=(const Ghash&) = delete;
  ~Ghash();

  // Returns the sum of a message that is sent as it is, or of one that is encrypted.
  Block OfPlain(absl::Span<const uint8_t> message) const;
  Block OfEncrypted(absl::Span<const uint8_t> message) const;
  // Copies head and body to `out`, one behind the other, and returns the sum of both, sent as they are. Each byte is
  // read once: the sum is of the copy whatever others write to the source meanwhile.
  Block OfCopied(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, uint8_t* out) const;

 private:
  const bool wide_;
  // The key's powers from the 32nd to the first, 16 bytes each, as the processor multiplies them.
  std::array<uint8_t, kPowers * kBlockBytes> powers_{};
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_GHASH_H_
