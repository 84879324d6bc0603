// SPDX-License-Identifier: Apache-2.0
#include "base/encoding/compression.h"

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse {
namespace {

using testing::FailsWith;

TEST(CompressionTest, BytesComeBack) {
  Prng prng(1);
  std::string random(1000, '\0');
  for (char& byte : random) byte = static_cast<char>(prng.Below(256));
  for (const std::string& bytes : {std::string(), std::string("a"), std::string(100'000, 'x'), random}) {
    for (const bool checksum : {false, true}) {
      EXPECT_EQ(Decompressed(Compressed(bytes, checksum), bytes.size()).value(), bytes);
    }
  }
  EXPECT_LT(Compressed(std::string(100'000, 'x')).size(), 100u);
}

TEST(CompressionTest, WhatIsNoFrameOrTooLongIsRefused) {
  for (const char* none : {"", "x", "no frame of zstd's"}) {
    EXPECT_THAT(Decompressed(none, 100), FailsWith(absl::StatusCode::kDataLoss, "limit=100")) << none;
  }
  EXPECT_THAT(Decompressed(Compressed(std::string(101, 'x')), 100),
              FailsWith(absl::StatusCode::kDataLoss, "limit=100"));
  const std::string frame = Compressed(std::string(100, 'x'));
  EXPECT_THAT(Decompressed(frame.substr(0, frame.size() - 1), 100), FailsWith(absl::StatusCode::kDataLoss));
}

TEST(CompressionTest, AChecksumFindsAChangedByte) {
  std::string frame = Compressed("unlike any other", /*checksum=*/true);
  frame[frame.size() - 8] ^= 1;  // before the checksum, which has 4 bytes
  EXPECT_THAT(Decompressed(frame, 100), FailsWith(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace copse
