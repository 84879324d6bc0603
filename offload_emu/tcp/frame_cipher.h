// SPDX-License-Identifier: Apache-2.0
//
// Seals what goes over a connection between two daemons, and opens it.
#ifndef COPSE_OFFLOAD_EMU_TCP_FRAME_CIPHER_H_
#define COPSE_OFFLOAD_EMU_TCP_FRAME_CIPHER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/types/span.h"
#include "offload_emu/tcp/ghash.h"

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

// A PlainSum is the sum of a message, which is sent as it is, under one cipher's `key`th key; 0: there is none.
struct PlainSum {
  uint64_t key = 0;
  Ghash::Block sum{};
};

// A FrameCipher is one end of one direction of a connection: it either seals or opens. Both ends make the same calls in
// the same order, so a message that is lost, repeated, changed or out of order does not open: the n-th message's nonce
// is the key's, of which the last 8 bytes are combined with n. After `rekey_after` messages both ends derive a new key
// from the old one, which is forgotten. Thread-compatible.
//
// OpenSSL encrypts. It also sums long messages that are encrypted; others are summed by Ghash where the processor has
// what that needs, since OpenSSL takes 300 ns for each of the two parts of a short one.
//
// Source:  AES-256-GCM as in NIST SP 800-38D; nonces as in RFC 8446, section 5.3. Differs: rekeying by count, with
//          HMAC-SHA256, instead of by message.
class FrameCipher {
 public:
  // TLS changes its keys after 2^24.5 messages of 2^14 bytes; this many messages of 2^16 bytes are fewer bytes.
  static constexpr uint64_t kRekeyAfter = uint64_t{1} << 22;

  // `sums`: whether Ghash is used, which must be supported.
  explicit FrameCipher(const CipherKey& key, uint64_t rekey_after = kRekeyAfter, bool sums = Ghash::IsSupported());
  FrameCipher(const FrameCipher&) = delete;
  FrameCipher& operator=(const FrameCipher&) = delete;
  ~FrameCipher();

  // --- Sealing; `tag` has room for kTagBytes ---
  // Writes the encrypted message to `out`, which has its length and may be its memory, and its tag.
  void Seal(absl::Span<const uint8_t> message, uint8_t* out, uint8_t* tag);
  // Writes the tag of a message that is sent as it is; `sum` is the message's, of Copy, or none.
  void Sign(absl::Span<const uint8_t> message, uint8_t* tag, const PlainSum& sum = {});
  // Copies head and body to `out`, one behind the other, as a message that Sign gets later: what is copied and summed
  // in one pass is read from memory once.
  PlainSum Copy(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, uint8_t* out) const;

  // --- Opening. After a false result the connection is of no use any more ---
  // Decrypts in place. Returns whether the message is the one that was sealed.
  bool Open(absl::Span<uint8_t> message, const uint8_t* tag);
  // Returns whether the message is the one that was signed.
  bool Verify(absl::Span<const uint8_t> message, const uint8_t* tag);

 private:
  struct FreeContext {
    void operator()(evp_cipher_ctx_st* context) const;
  };
  using Context = std::unique_ptr<evp_cipher_ctx_st, FreeContext>;
  using Nonce = std::array<uint8_t, 12>;
  // The longest message that is encrypted by its key stream.
  static constexpr size_t kShortBytesMax = 256;
  // So many blocks of the key streams of so many messages are computed ahead, in one call of OpenSSL, which takes
  // longer than what it computes: enough for headers, and for payloads that are not encrypted.
  static constexpr size_t kAheadBlocks = 3;
  static constexpr size_t kAheadMessages = 8;
  static constexpr size_t kAheadBytes = kAheadBlocks * Ghash::kBlockBytes;

  bool IsBrief(size_t bytes) const { return ghash_.has_value() && bytes <= kShortBytesMax; }
  // Returns the key stream of the next message: the block that masks its sum, then what is combined with its `bytes` <=
  // kShortBytesMax that are encrypted. It is valid until the next call.
  const uint8_t* NextKeyStream(size_t bytes);
  // Writes the blocks whose encryption is a message's key stream.
  void PutKeyStream(uint64_t number, size_t blocks, uint8_t* stream) const;
  void Encrypt(absl::Span<uint8_t> blocks);
  Nonce NonceOf(uint64_t number) const;
  // Returns the number of the next message under this key, or the first one under the next key.
  uint64_t NextNumber();
  // Prepares `gcm_` for the next message.
  void Begin(bool seals);
  // `out` null: the message is sent as it is.
  void SealByOpenSsl(absl::Span<const uint8_t> message, uint8_t* out, uint8_t* tag);
  bool OpenByOpenSsl(absl::Span<const uint8_t> message, uint8_t* out, const uint8_t* tag);
  void UseKey();
  void Rekey();

  CipherKey key_;
  const uint64_t rekey_after_;
  uint64_t count_ = 0;  // messages under this key
  uint64_t keys_ = 0;   // this one and those before
  const Context gcm_;
  bool is_gcm_keyed_ = false;                                // gcm_ has this key
  const Context blocks_;                                     // null: without Ghash
  std::optional<Ghash> ghash_;                               // of this key
  std::array<uint8_t, kAheadMessages * kAheadBytes> ahead_;  // key streams of the messages ahead_begin_..ahead_end_
  uint64_t ahead_begin_ = 0, ahead_end_ = 0;
  std::array<uint8_t, kShortBytesMax + Ghash::kBlockBytes> long_;  // key stream of a message that needs more blocks
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_FRAME_CIPHER_H_
