// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/frame_cipher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace copse::emu {
namespace {

struct Sealed {
  std::vector<uint8_t> message;
  uint8_t tag[kTagBytes];
};

CipherKey SomeKey() {
  CipherKey key;
  for (size_t i = 0; i < key.key.size(); ++i) key.key[i] = static_cast<uint8_t>(3 * i + 1);
  for (size_t i = 0; i < key.nonce.size(); ++i) key.nonce[i] = static_cast<uint8_t>(7 * i);
  return key;
}

std::vector<uint8_t> MessageOf(size_t bytes) {
  std::vector<uint8_t> message(bytes);
  for (size_t i = 0; i < bytes; ++i) message[i] = static_cast<uint8_t>(i);
  return message;
}

Sealed SealedBy(FrameCipher* cipher, const std::vector<uint8_t>& message, bool encrypts) {
  Sealed sealed;
  sealed.message = message;
  if (encrypts) {
    cipher->Seal(message, sealed.message.data(), sealed.tag);
  } else {
    cipher->Sign(message, sealed.tag);
  }
  return sealed;
}

bool IsOpenedBy(FrameCipher* cipher, Sealed* sealed, bool encrypts) {
  return encrypts ? cipher->Open(absl::MakeSpan(sealed->message), sealed->tag)
                  : cipher->Verify(sealed->message, sealed->tag);
}

class FrameCipherTest : public testing::TestWithParam<bool> {
 protected:
  FrameCipher sealer_{SomeKey()};
  FrameCipher opener_{SomeKey()};
};
INSTANTIATE_TEST_SUITE_P(SignedAndEncrypted, FrameCipherTest, testing::Bool());

// Processors, and so the ends of a connection, differ in who computes the sums.
TEST_P(FrameCipherTest, OpenSslOpensWhatGhashHasSummedAndTheOtherWayRound) {
  if (!Ghash::IsSupported()) GTEST_SKIP() << "not on this processor";
  constexpr uint64_t kRekeyAfter = 7;
  FrameCipher openssl_sealer(SomeKey(), kRekeyAfter, false), openssl_opener(SomeKey(), kRekeyAfter, false);
  FrameCipher ghash_sealer(SomeKey(), kRekeyAfter, true), ghash_opener(SomeKey(), kRekeyAfter, true);
  for (const size_t bytes : {0, 1, 15, 16, 17, 32, 72, 192, 240, 255, 256, 257, 1000, 4096, 65536}) {
    const std::vector<uint8_t> message = MessageOf(bytes);
    Sealed by_openssl = SealedBy(&openssl_sealer, message, GetParam());
    Sealed by_ghash = SealedBy(&ghash_sealer, message, GetParam());
    EXPECT_EQ(by_openssl.message, by_ghash.message) << bytes;
    EXPECT_TRUE(std::equal(by_ghash.tag, by_ghash.tag + kTagBytes, by_openssl.tag)) << bytes;
    EXPECT_TRUE(IsOpenedBy(&openssl_opener, &by_ghash, GetParam())) << bytes;
    EXPECT_TRUE(IsOpenedBy(&ghash_opener, &by_openssl, GetParam())) << bytes;
    EXPECT_EQ(by_openssl.message, message);
    EXPECT_EQ(by_ghash.message, message);
  }
}

// As on a connection, whose headers are encrypted and may have a payload that is not.
TEST(MixedTest, OpenSslOpensEachOrderOfBothKinds) {
  if (!Ghash::IsSupported()) GTEST_SKIP() << "not on this processor";
  for (const uint64_t rekey_after : {1, 2, 3, 100}) {
    FrameCipher sealer(SomeKey(), rekey_after, true), opener(SomeKey(), rekey_after, true);
    FrameCipher openssl(SomeKey(), rekey_after, false);
    for (uint32_t i = 0; i < 64; ++i) {
      const bool encrypts = (0x9d2c5680u >> (i % 32) & 1) != 0;
      const std::vector<uint8_t> message = MessageOf(i % 3 == 0 ? 32 : 8 * i);
      Sealed sealed = SealedBy(&sealer, message, encrypts);
      Sealed copy = sealed;
      EXPECT_TRUE(IsOpenedBy(&openssl, &sealed, encrypts)) << rekey_after << " " << i;
      EXPECT_TRUE(IsOpenedBy(&opener, &copy, encrypts)) << rekey_after << " " << i;
    }
  }
}

TEST(SumTest, OfACopyIsUsedUntilTheKeyChanges) {
  for (const bool sums : {false, Ghash::IsSupported()}) {
    constexpr uint64_t kRekeyAfter = 3;
    FrameCipher sealer(SomeKey(), kRekeyAfter, sums), opener(SomeKey(), kRekeyAfter);
    const std::vector<uint8_t> message = MessageOf(1000);
    const auto whole = absl::MakeConstSpan(message);
    std::vector<uint8_t> copy(message.size());
    const PlainSum sum = sealer.Copy(whole.subspan(0, 72), whole.subspan(72), copy.data());
    EXPECT_EQ(sum.key != 0, sums);
    EXPECT_EQ(copy, message);
    for (uint64_t i = 0; i < 2 * kRekeyAfter; ++i) {
      uint8_t tag[kTagBytes];
      sealer.Sign(copy, tag, sum);
      EXPECT_TRUE(opener.Verify(copy, tag)) << i;
    }
  }
}

TEST_P(FrameCipherTest, OpenSslAloneLetsNoBitBeChanged) {
  const std::vector<uint8_t> message = MessageOf(24);
  const Sealed sealed = SealedBy(&sealer_, message, GetParam());
  for (size_t byte = 0; byte < message.size(); ++byte) {
    Sealed changed = sealed;
    changed.message[byte] ^= 1;
    FrameCipher opener(SomeKey(), FrameCipher::kRekeyAfter, false);
    EXPECT_FALSE(IsOpenedBy(&opener, &changed, GetParam())) << byte;
  }
}

TEST_P(FrameCipherTest, NoByteOfALongMessageCanBeChanged) {
  const std::vector<uint8_t> message = MessageOf(600);
  const Sealed sealed = SealedBy(&sealer_, message, GetParam());
  for (size_t byte = 0; byte < message.size(); ++byte) {
    Sealed changed = sealed;
    changed.message[byte] ^= 0x80;
    FrameCipher opener(SomeKey());
    EXPECT_FALSE(IsOpenedBy(&opener, &changed, GetParam())) << byte;
  }
}

TEST_P(FrameCipherTest, OpensMessagesOfAllSizes) {
  for (const size_t bytes : {0, 1, 15, 16, 17, 32, 256, 257, 1000, 65536}) {
    const std::vector<uint8_t> message = MessageOf(bytes);
    Sealed sealed = SealedBy(&sealer_, message, GetParam());
    EXPECT_EQ(sealed.message == message, !GetParam() || bytes == 0) << bytes;
    EXPECT_TRUE(IsOpenedBy(&opener_, &sealed, GetParam())) << bytes;
    EXPECT_EQ(sealed.message, message);
  }
}

TEST_P(FrameCipherTest, NoBitCanBeChanged) {
  const std::vector<uint8_t> message = MessageOf(24);
  const Sealed sealed = SealedBy(&sealer_, message, GetParam());
  for (size_t bit = 0; bit < 8 * (message.size() + kTagBytes); ++bit) {
    Sealed changed = sealed;
    const size_t byte = bit / 8;
    uint8_t& where = byte < message.size() ? changed.message[byte] : changed.tag[byte - message.size()];
    where ^= static_cast<uint8_t>(1 << bit % 8);
    FrameCipher opener(SomeKey());
    EXPECT_FALSE(IsOpenedBy(&opener, &changed, GetParam())) << "bit " << bit;
  }
}

TEST_P(FrameCipherTest, NoMessageOpensTwiceOrOutOfOrder) {
  Sealed first = SealedBy(&sealer_, MessageOf(40), GetParam());
  Sealed second = SealedBy(&sealer_, MessageOf(40), GetParam());
  Sealed again = first;
  EXPECT_TRUE(IsOpenedBy(&opener_, &first, GetParam()));
  EXPECT_FALSE(IsOpenedBy(&opener_, &again, GetParam()));
  FrameCipher other(SomeKey());
  EXPECT_FALSE(IsOpenedBy(&other, &second, GetParam()));
}

TEST_P(FrameCipherTest, BothEndsChangeTheKeyAtTheSameMessage) {
  constexpr int kRekeyAfter = 3;
  FrameCipher sealer(SomeKey(), kRekeyAfter);
  FrameCipher opener(SomeKey(), kRekeyAfter);
  for (int i = 0; i < 4 * kRekeyAfter; ++i) {
    const Sealed by_first_key = SealedBy(&sealer_, MessageOf(40), GetParam());
    Sealed sealed = SealedBy(&sealer, MessageOf(40), GetParam());
    EXPECT_EQ(std::equal(sealed.tag, sealed.tag + kTagBytes, by_first_key.tag), i < kRekeyAfter) << i;
    EXPECT_TRUE(IsOpenedBy(&opener, &sealed, GetParam())) << i;
  }
}

}  // namespace
}  // namespace copse::emu
