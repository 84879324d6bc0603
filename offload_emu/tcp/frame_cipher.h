// SPDX-License-Identifier: Apache-2.0
//
// Seals what goes over a connection between two daemons, and opens it.
#ifndef COPSE_OFFLOAD_EMU_TCP_FRAME_CIPHER_H_
#define COPSE_OFFLOAD_EMU_TCP_FRAME_CIPHER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

struct evp_cipher_ctx_st;

namespace copse::emu {

inline constexpr size_t kTagBytes = 16;

// A CipherKey is the secret of one direction of a connection. It is wiped when it is destroyed.
struct CipherKey {
  std::array<uint8_t, 32> key{};
  std::array<uint8_t, 12> nonce{};

  CipherKey() = default;
  CipherKey(const CipherKey&) = default;
  CipherKey& operator=(const CipherKey&) = default;
  ~CipherKey();
};

// A FrameCipher is one end of one direction of a connection: it either seals or opens. Both ends make the same calls in
// the same order, so a message that is lost, repeated, changed or out of order does not open: the n-th message's nonce
// is the key's, of which the last 8 bytes are combined with n. After `rekey_after` messages both ends derive a new key
// from the old one, which is forgotten. Thread-compatible.
//
// Source:  AES-256-GCM as in NIST SP 800-38D; nonces as in RFC 8446, section 5.3. Differs: rekeying by count, with
//          HMAC-SHA256, instead of by message.
class FrameCipher {
 public:
  // TLS changes its keys after 2^24.5 messages of 2^14 bytes; this many messages of 2^16 bytes are fewer bytes.
  static constexpr uint64_t kRekeyAfter = uint64_t{1} << 22;

  explicit FrameCipher(const CipherKey& key, uint64_t rekey_after = kRekeyAfter);
  FrameCipher(const FrameCipher&) = delete;
  FrameCipher& operator=(const FrameCipher&) = delete;
  ~FrameCipher();

  // --- Sealing; `tag` has room for kTagBytes ---
  // Writes the encrypted message to `out`, which has its length and may be its memory, and its tag.
  void Seal(absl::Span<const uint8_t> message, uint8_t* out, uint8_t* tag);
  // Writes the tag of a message that is sent as it is.
  void Sign(absl::Span<const uint8_t> message, uint8_t* tag);

  // --- Opening. After a false result the connection is of no use any more ---
  // Decrypts in place. Returns whether the message is the one that was sealed.
  bool Open(absl::Span<uint8_t> message, const uint8_t* tag);
  // Returns whether the message is the one that was signed.
  bool Verify(absl::Span<const uint8_t> message, const uint8_t* tag);

 private:
  // Prepares the context for the next message.
  void Begin(bool seals);
  void Rekey();

  CipherKey key_;
  const uint64_t rekey_after_;
  uint64_t count_ = 0;  // messages under this key
  bool is_keyed_ = false;
  evp_cipher_ctx_st* const context_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_FRAME_CIPHER_H_
