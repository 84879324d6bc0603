// SPDX-License-Identifier: Apache-2.0
#include "base/encoding/sha256.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace copse {
namespace {

TEST(Sha256Test, IsThatOfTheStandardsExample) {
  EXPECT_EQ(absl::BytesToHexString(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace copse
