// SPDX-License-Identifier: Apache-2.0
#include "client/run/job_contact.h"

#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

using copse::testing::FailsWith;

TEST(JobContactTest, WhatIsWrittenIsRead) {
  const std::string text = ContactText({.planner_port = 40001, .lease_port = 65535, .addresses = {"10.0.0.1", "::1"}});
  EXPECT_EQ(text.find_first_of(", "), std::string::npos) << text;
  const auto contact = ParseContact(text);
  ASSERT_TRUE(contact.ok()) << contact.status();
  EXPECT_EQ(contact->planner_port, 40001);
  EXPECT_EQ(contact->lease_port, 65535);
  EXPECT_EQ(contact->addresses, (std::vector<std::string>{"10.0.0.1", "::1"}));
}

TEST(JobContactTest, OtherTextsAreRefused) {
  for (const char* text : {"", "1/2", "0/2/10.0.0.1", "1/65536/10.0.0.1", "a/2/10.0.0.1", "-1/2/10.0.0.1"}) {
    EXPECT_THAT(ParseContact(text), FailsWith(absl::StatusCode::kInvalidArgument, std::string("value=") + text));
  }
}

}  // namespace
}  // namespace copse::run
