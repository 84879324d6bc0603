// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/ghash.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"

namespace copse::emu {
namespace {

constexpr std::array<uint8_t, 16> kKey = {0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c,
                                          0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
constexpr std::array<uint8_t, 12> kNonce = {0xca, 0xfe, 0xba, 0xbe};

Ghash::Block Encrypted(const Ghash::Block& block) {
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  Ghash::Block encrypted;
  int written = 0;
  CHECK(EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), nullptr, kKey.data(), nullptr) == 1);
  CHECK(EVP_EncryptUpdate(context, encrypted.data(), &written, block.data(), block.size()) == 1);
  EVP_CIPHER_CTX_free(context);
  return encrypted;
}

// Returns the sum in OpenSSL's tag; `*message` is encrypted if `encrypts`.
Ghash::Block SumByOpenSsl(std::vector<uint8_t>* message, bool encrypts) {
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  Ghash::Block sum;
  int written = 0;
  CHECK(EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, kKey.data(), kNonce.data()) == 1);
  CHECK(EVP_EncryptUpdate(context, encrypts ? message->data() : nullptr, &written, message->data(),
                          static_cast<int>(message->size())) == 1);
  CHECK(EVP_EncryptFinal_ex(context, sum.data(), &written) == 1);
  CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, sum.size(), sum.data()) == 1);
  EVP_CIPHER_CTX_free(context);
  Ghash::Block counter{};
  std::copy(kNonce.begin(), kNonce.end(), counter.begin());
  counter.back() = 1;
  const Ghash::Block mask = Encrypted(counter);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] ^= mask[i];
  return sum;
}

// `wide` or not.
class GhashTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!(GetParam() ? Ghash::IsWideSupported() : Ghash::IsSupported())) GTEST_SKIP() << "not on this processor";
    ghash_.emplace(Encrypted({}), GetParam());
  }
  void ExpectOpenSslsSum(size_t bytes) {
    std::vector<uint8_t> message(bytes);
    for (size_t i = 0; i < bytes; ++i) message[i] = static_cast<uint8_t>(i * i + (i >> 7) + bytes);
    EXPECT_EQ(ghash_->OfPlain(message), SumByOpenSsl(&message, false)) << bytes;
    const Ghash::Block sum = SumByOpenSsl(&message, true);
    EXPECT_EQ(ghash_->OfEncrypted(message), sum) << bytes;
  }

  std::optional<Ghash> ghash_;
};
INSTANTIATE_TEST_SUITE_P(NarrowAndWide, GhashTest, testing::Bool());

// NIST's document on GCM, test case 2: AES-128 under a key of zeros, one block of zeros.
TEST_P(GhashTest, IsTheStandards) {
  const Ghash ghash({0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b, 0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e},
                    GetParam());
  const Ghash::Block message = {0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92,
                                0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78};
  const Ghash::Block sum = {0xf3, 0x8c, 0xbb, 0x1a, 0xd6, 0x92, 0x23, 0xdc,
                            0xc3, 0x45, 0x7a, 0xe5, 0xb6, 0xb0, 0xf8, 0x85};
  EXPECT_EQ(ghash.OfEncrypted(message), sum);
}

TEST_P(GhashTest, IsOpenSslsForEachLength) {
  for (size_t bytes = 1; bytes <= 1100; ++bytes) ExpectOpenSslsSum(bytes);
  for (const size_t bytes : {4095, 4096, 65535, 65536, 1'000'003}) ExpectOpenSslsSum(bytes);
}

TEST_P(GhashTest, CopiesAndSumsHeadAndBodyAsOneMessage) {
  const size_t sizes[] = {0, 1, 15, 16, 17, 32, 72, 500, 511, 512, 513, 1500, 4099, 65464};
  for (const size_t head : sizes) {
    for (const size_t body : sizes) {
      std::vector<uint8_t> message(head + body);
      for (size_t i = 0; i < message.size(); ++i) message[i] = static_cast<uint8_t>(i * i + (i >> 7) + head);
      std::vector<uint8_t> copy(message.size() + 1, 0xee);
      const auto whole = absl::MakeConstSpan(message);
      EXPECT_EQ(ghash_->OfCopied(whole.subspan(0, head), whole.subspan(head), copy.data()), ghash_->OfPlain(whole))
          << head << " " << body;
      EXPECT_EQ(copy.back(), 0xee);
      copy.pop_back();
      EXPECT_EQ(copy, message);
    }
  }
}

TEST_P(GhashTest, OfNothingIsZero) {
  EXPECT_EQ(ghash_->OfPlain({}), Ghash::Block{});
  EXPECT_EQ(ghash_->OfEncrypted({}), Ghash::Block{});
}

TEST_P(GhashTest, TheMessageNeedNotBeAligned) {
  std::vector<uint8_t> message(600, 7);
  const Ghash::Block sum = ghash_->OfPlain(absl::MakeConstSpan(message).subspan(0, 500));
  for (size_t at = 1; at < 64; ++at) EXPECT_EQ(ghash_->OfPlain(absl::MakeConstSpan(message).subspan(at, 500)), sum);
}

}  // namespace
}  // namespace copse::emu
