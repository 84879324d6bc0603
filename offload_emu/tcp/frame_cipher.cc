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

}  // namespace

CipherKey::~CipherKey() {
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(nonce.data(), nonce.size());
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

FrameCipher::Nonce FrameCipher::NextNonce() {
  if (count_ == rekey_after_) Rekey();
  Nonce nonce = key_.nonce;
  uint64_t last;
  uint8_t* const at = nonce.data() + nonce.size() - sizeof(last);
  std::memcpy(&last, at, sizeof(last));
  last ^= htobe64(count_++);
  std::memcpy(at, &last, sizeof(last));
  return nonce;
}

// --- By OpenSSL ---

void FrameCipher::Begin(bool seals) {
  const Nonce nonce = NextNonce();
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

// As in SP 800-38D, section 7.1: the nonce is followed by a counter, from 1.
FrameCipher::KeyStream FrameCipher::NextKeyStream(size_t bytes) {
  const Nonce nonce = NextNonce();
  const size_t blocks = 1 + (bytes + Ghash::kBlockBytes - 1) / Ghash::kBlockBytes;
  KeyStream stream;
  for (size_t i = 0; i < blocks; ++i) {
    uint8_t* const block = stream.bytes.data() + i * Ghash::kBlockBytes;
    const uint32_t number = htobe32(static_cast<uint32_t>(i + 1));
    std::memcpy(block, nonce.data(), nonce.size());
    std::memcpy(block + nonce.size(), &number, sizeof(number));
  }
  int written = 0;
  CHECK(EVP_EncryptUpdate(blocks_.get(), stream.bytes.data(), &written, stream.bytes.data(),
                          static_cast<int>(blocks * Ghash::kBlockBytes)) == 1);
  return stream;
}

void FrameCipher::KeyStream::Mask(const Ghash::Block& sum, uint8_t* tag) const {
  for (size_t i = 0; i < sum.size(); ++i) tag[i] = sum[i] ^ bytes[i];
}

void FrameCipher::KeyStream::Combine(absl::Span<const uint8_t> message, uint8_t* out) const {
  for (size_t i = 0; i < message.size(); ++i) out[i] = message[i] ^ bytes[Ghash::kBlockBytes + i];
}

void FrameCipher::Seal(absl::Span<const uint8_t> message, uint8_t* out, uint8_t* tag) {
  if (!IsBrief(message.size())) return SealByOpenSsl(message, out, tag);
  const KeyStream stream = NextKeyStream(message.size());
  stream.Combine(message, out);
  stream.Mask(ghash_->OfEncrypted({out, message.size()}), tag);
}

void FrameCipher::Sign(absl::Span<const uint8_t> message, uint8_t* tag, const PlainSum& sum) {
  if (!ghash_.has_value()) return SealByOpenSsl(message, nullptr, tag);
  const KeyStream stream = NextKeyStream(0);  // may change the key
  stream.Mask(sum.key == keys_ ? sum.sum : ghash_->OfPlain(message), tag);
}

PlainSum FrameCipher::Copy(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, uint8_t* out) const {
  if (ghash_.has_value()) return {.key = keys_, .sum = ghash_->OfCopied(head, body, out)};
  std::copy(body.begin(), body.end(), std::copy(head.begin(), head.end(), out));
  return {};
}

bool FrameCipher::Open(absl::Span<uint8_t> message, const uint8_t* tag) {
  if (!IsBrief(message.size())) return OpenByOpenSsl(message, message.data(), tag);
  const KeyStream stream = NextKeyStream(message.size());
  uint8_t expected[kTagBytes];
  stream.Mask(ghash_->OfEncrypted(message), expected);
  if (CRYPTO_memcmp(expected, tag, kTagBytes) != 0) return false;
  stream.Combine(message, message.data());
  return true;
}

bool FrameCipher::Verify(absl::Span<const uint8_t> message, const uint8_t* tag) {
  if (!ghash_.has_value()) return OpenByOpenSsl(message, nullptr, tag);
  uint8_t expected[kTagBytes];
  NextKeyStream(0).Mask(ghash_->OfPlain(message), expected);
  return CRYPTO_memcmp(expected, tag, kTagBytes) == 0;
}

}  // namespace copse::emu
