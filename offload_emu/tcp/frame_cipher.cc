// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/frame_cipher.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

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

FrameCipher::FrameCipher(const CipherKey& key, uint64_t rekey_after)
    : key_(key), rekey_after_(rekey_after), context_(EVP_CIPHER_CTX_new()) {
  CHECK(context_ != nullptr);
}

FrameCipher::~FrameCipher() { EVP_CIPHER_CTX_free(context_); }

void FrameCipher::Rekey() {
  CipherKey next;
  next.key = Derive(key_, 1);
  std::array<uint8_t, 32> nonce = Derive(key_, 2);
  std::copy_n(nonce.begin(), next.nonce.size(), next.nonce.begin());
  OPENSSL_cleanse(nonce.data(), nonce.size());
  key_ = next;
  count_ = 0;
  is_keyed_ = false;
}

void FrameCipher::Begin(bool seals) {
  if (count_ == rekey_after_) Rekey();
  std::array<uint8_t, 12> nonce = key_.nonce;
  for (int i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<uint8_t>(count_ >> (8 * i));
  ++count_;
  // The key's schedule is computed once for each key.
  const EVP_CIPHER* const cipher = is_keyed_ ? nullptr : EVP_aes_256_gcm();
  CHECK(EVP_CipherInit_ex(context_, cipher, nullptr, is_keyed_ ? nullptr : key_.key.data(), nonce.data(),
                          seals ? 1 : 0) == 1);
  is_keyed_ = true;
}

void FrameCipher::Seal(absl::Span<const uint8_t> message, uint8_t* out, uint8_t* tag) {
  Begin(true);
  int written = 0;
  CHECK(EVP_EncryptUpdate(context_, out, &written, message.data(), static_cast<int>(message.size())) == 1);
  CHECK(EVP_EncryptFinal_ex(context_, out + written, &written) == 1);
  CHECK(EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) == 1);
}

void FrameCipher::Sign(absl::Span<const uint8_t> message, uint8_t* tag) {
  Begin(true);
  int written = 0;
  CHECK(EVP_EncryptUpdate(context_, nullptr, &written, message.data(), static_cast<int>(message.size())) == 1);
  CHECK(EVP_EncryptFinal_ex(context_, tag, &written) == 1);  // writes nothing
  CHECK(EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) == 1);
}

bool FrameCipher::Open(absl::Span<uint8_t> message, const uint8_t* tag) {
  Begin(false);
  int written = 0;
  CHECK(EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, kTagBytes, const_cast<uint8_t*>(tag)) == 1);
  CHECK(EVP_DecryptUpdate(context_, message.data(), &written, message.data(), static_cast<int>(message.size())) == 1);
  return EVP_DecryptFinal_ex(context_, message.data() + written, &written) == 1;
}

bool FrameCipher::Verify(absl::Span<const uint8_t> message, const uint8_t* tag) {
  Begin(false);
  int written = 0;
  CHECK(EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, kTagBytes, const_cast<uint8_t*>(tag)) == 1);
  CHECK(EVP_DecryptUpdate(context_, nullptr, &written, message.data(), static_cast<int>(message.size())) == 1);
  uint8_t nothing[kTagBytes];
  return EVP_DecryptFinal_ex(context_, nothing, &written) == 1;
}

}  // namespace copse::emu
