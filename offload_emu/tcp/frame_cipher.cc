// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/frame_cipher.h"

#include <endian.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace copse::emu {
namespace {

// One byte after the label tells the derived key from the derived nonce.
constexpr char kRekeyLabel[] = "copse rekey";

std::array<uint8_t, 32> Derive(const CipherKey& key, uint8_t purpose) {
  uint8_t text[sizeof(kRekeyLabel)];
  std::copy_n(kRekeyLabel, sizeof(kRekeyLabel), text);
  text[sizeof(text) - 1] = purpose;
  std::array<uint8_t, 32> derived;
  unsigned int length = derived.size();
  CHECK(HMAC(EVP_sha256(), key.key.data(), static_cast<int>(key.key.size()), text, sizeof(text), derived.data(),
             &length) != nullptr);
  return derived;
}

// Writes a block of counter mode: SP 800-38D, section 7.1.
void PutCounter(const std::array<uint8_t, 12>& nonce, size_t number, uint8_t* block) {
  const uint32_t counter = htobe32(static_cast<uint32_t>(number));
  std::memcpy(block, nonce.data(), nonce.size());
  std::memcpy(block + nonce.size(), &counter, sizeof(counter));
}

void Combine(absl::Span<const uint8_t> message, const uint8_t* stream, uint8_t* out) {
  for (size_t i = 0; i < message.size(); ++i) out[i] = message[i] ^ stream[i];
}

}  // namespace

CipherKey::~CipherKey() {
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(nonce.data(), nonce.size());
}

FrameCipher::~FrameCipher() {
  OPENSSL_cleanse(ahead_.data(), ahead_.size());
  OPENSSL_cleanse(long_.data(), long_.size());
}

void FrameCipher::FreeContext::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

FrameCipher::FrameCipher(const CipherKey& key, uint64_t rekey_after, bool sums)
    : key_(key), rekey_after_(rekey_after), gcm_(EVP_CIPHER_CTX_new()), blocks_(sums ? EVP_CIPHER_CTX_new() : nullptr) {
  CHECK(gcm_ != nullptr);
  UseKey();
}

// OpenSSL computes a key's schedule when it gets the key.
void FrameCipher::UseKey() {
  count_ = 0;
  ahead_begin_ = ahead_end_ = 0;
  ++keys_;
  is_gcm_keyed_ = false;
  if (blocks_ == nullptr) return;
  CHECK(EVP_EncryptInit_ex(blocks_.get(), EVP_aes_256_ecb(), nullptr, key_.key.data(), nullptr) == 1);
  CHECK(EVP_CIPHER_CTX_set_padding(blocks_.get(), 0) == 1);
  Ghash::Block hash_key{};
  int written = 0;
  CHECK(EVP_EncryptUpdate(blocks_.get(), hash_key.data(), &written, hash_key.data(), hash_key.size()) == 1);
  ghash_.emplace(hash_key);
  OPENSSL_cleanse(hash_key.data(), hash_key.size());
}

void FrameCipher::Rekey() {
  CipherKey next;
  next.key = Derive(key_, 1);
  std::array<uint8_t, 32> nonce = Derive(key_, 2);
  std::copy_n(nonce.begin(), next.nonce.size(), next.nonce.begin());
  OPENSSL_cleanse(nonce.data(), nonce.size());
  key_ = next;
  UseKey();
}

FrameCipher::Nonce FrameCipher::NonceOf(uint64_t number) const {
  Nonce nonce = key_.nonce;
  uint64_t last;
  uint8_t* const at = nonce.data() + nonce.size() - sizeof(last);
  std::memcpy(&last, at, sizeof(last));
  last ^= htobe64(number);
  std::memcpy(at, &last, sizeof(last));
  return nonce;
}

uint64_t FrameCipher::NextNumber() {
  if (count_ == rekey_after_) Rekey();
  return count_++;
}

// --- By OpenSSL ---

void FrameCipher::Begin(bool seals) {
  const Nonce nonce = NonceOf(NextNumber());
  const bool has_key = std::exchange(is_gcm_keyed_, true);
  CHECK(EVP_CipherInit_ex(gcm_.get(), has_key ? nullptr : EVP_aes_256_gcm(), nullptr,
                          has_key ? nullptr : key_.key.data(), nonce.data(), seals ? 1 : 0) == 1);
}

void FrameCipher::SealByOpenSsl(absl::Span<const uint8_t> message, uint8_t* out, uint8_t* tag) {
  Begin(true);
  int written = 0;
  CHECK(EVP_EncryptUpdate(gcm_.get(), out, &written, message.data(), static_cast<int>(message.size())) == 1);
  uint8_t nothing[kTagBytes];
  CHECK(EVP_EncryptFinal_ex(gcm_.get(), nothing, &written) == 1);
  CHECK(EVP_CIPHER_CTX_ctrl(gcm_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) == 1);
}

bool FrameCipher::OpenByOpenSsl(absl::Span<const uint8_t> message, uint8_t* out, const uint8_t* tag) {
  Begin(false);
  int written = 0;
  CHECK(EVP_CIPHER_CTX_ctrl(gcm_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, const_cast<uint8_t*>(tag)) == 1);
  CHECK(EVP_DecryptUpdate(gcm_.get(), out, &written, message.data(), static_cast<int>(message.size())) == 1);
  uint8_t nothing[kTagBytes];
  return EVP_DecryptFinal_ex(gcm_.get(), nothing, &written) == 1;
}

// --- By Ghash ---

void FrameCipher::PutKeyStream(uint64_t number, size_t blocks, uint8_t* stream) const {
  const Nonce nonce = NonceOf(number);
  for (size_t i = 0; i < blocks; ++i) PutCounter(nonce, i + 1, stream + i * Ghash::kBlockBytes);
}

void FrameCipher::Encrypt(absl::Span<uint8_t> blocks) {
  int written = 0;
  CHECK(EVP_EncryptUpdate(blocks_.get(), blocks.data(), &written, blocks.data(), static_cast<int>(blocks.size())) == 1);
}

const uint8_t* FrameCipher::NextKeyStream(size_t bytes) {
  const uint64_t number = NextNumber();
  const size_t blocks = 1 + (bytes + Ghash::kBlockBytes - 1) / Ghash::kBlockBytes;
  if (blocks > kAheadBlocks) {
    PutKeyStream(number, blocks, long_.data());
    Encrypt(absl::MakeSpan(long_).first(blocks * Ghash::kBlockBytes));
    return long_.data();
  }
  if (number >= ahead_end_) {
    ahead_begin_ = number;
    ahead_end_ = number + kAheadMessages;
    for (uint64_t i = 0; i < kAheadMessages; ++i)
      PutKeyStream(number + i, kAheadBlocks, ahead_.data() + i * kAheadBytes);
    Encrypt(absl::MakeSpan(ahead_));
  }
  return ahead_.data() + (number - ahead_begin_) * kAheadBytes;
}

void FrameCipher::Seal(absl::Span<const uint8_t> message, uint8_t* out, uint8_t* tag) {
  if (!IsBrief(message.size())) return SealByOpenSsl(message, out, tag);
  const uint8_t* const stream = NextKeyStream(message.size());
  Combine(message, stream + Ghash::kBlockBytes, out);
  Combine(ghash_->OfEncrypted({out, message.size()}), stream, tag);
}

void FrameCipher::Sign(absl::Span<const uint8_t> message, uint8_t* tag, const PlainSum& sum) {
  if (!ghash_.has_value()) return SealByOpenSsl(message, nullptr, tag);
  const uint8_t* const mask = NextKeyStream(0);  // may change the key
  Combine(sum.key == keys_ ? sum.sum : ghash_->OfPlain(message), mask, tag);
}

PlainSum FrameCipher::Copy(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, uint8_t* out) const {
  if (ghash_.has_value()) return {.key = keys_, .sum = ghash_->OfCopied(head, body, out)};
  std::copy(body.begin(), body.end(), std::copy(head.begin(), head.end(), out));
  return {};
}

bool FrameCipher::Open(absl::Span<uint8_t> message, const uint8_t* tag) {
  if (!IsBrief(message.size())) return OpenByOpenSsl(message, message.data(), tag);
  const uint8_t* const stream = NextKeyStream(message.size());
  uint8_t expected[kTagBytes];
  Combine(ghash_->OfEncrypted(message), stream, expected);
  if (CRYPTO_memcmp(expected, tag, kTagBytes) != 0) return false;
  Combine(message, stream + Ghash::kBlockBytes, message.data());
  return true;
}

bool FrameCipher::Verify(absl::Span<const uint8_t> message, const uint8_t* tag) {
  if (!ghash_.has_value()) return OpenByOpenSsl(message, nullptr, tag);
  uint8_t expected[kTagBytes];
  const uint8_t* const mask = NextKeyStream(0);  // may change the key
  Combine(ghash_->OfPlain(message), mask, expected);
  return CRYPTO_memcmp(expected, tag, kTagBytes) == 0;
}

}  // namespace copse::emu
