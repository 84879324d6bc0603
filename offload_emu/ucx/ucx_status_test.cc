// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/ucx/ucx_status.h"

#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::emu {
namespace {

using copse::testing::FailsWith;

TEST(UcxToStatusTest, OkIsOk) { EXPECT_TRUE(UcxToStatus(UCS_OK, "x").ok()); }

TEST(UcxToStatusTest, SaysWhatFailedAndWhy) {
  const std::string why = ucs_status_string(UCS_ERR_CONNECTION_RESET);
  EXPECT_THAT(UcxToStatus(UCS_ERR_CONNECTION_RESET, "ucp_am_send"),
              FailsWith(absl::StatusCode::kUnavailable, "ucp_am_send: " + why));
}

TEST(UcxToStatusTest, CodesSayWhoseFaultItIs) {
  EXPECT_EQ(UcxToStatus(UCS_ERR_UNREACHABLE, "").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(UcxToStatus(UCS_ERR_ENDPOINT_TIMEOUT, "").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(UcxToStatus(UCS_ERR_INVALID_PARAM, "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(UcxToStatus(UCS_ERR_NO_MEMORY, "").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(UcxToStatus(UCS_ERR_NO_DEVICE, "").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(UcxToStatus(UCS_ERR_UNSUPPORTED, "").code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(UcxToStatus(UCS_ERR_CANCELED, "").code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(UcxToStatus(UCS_ERR_MESSAGE_TRUNCATED, "").code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace copse::emu
