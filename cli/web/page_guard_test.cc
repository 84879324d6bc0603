// SPDX-License-Identifier: Apache-2.0
#include "cli/web/page_guard.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace copse::web {
namespace {

bool Passes(const PageRequest& request, bool is_https = false) {
  return CheckPageRequest(request, "secret", {.is_https = is_https, .names = {"web.site"}}).ok();
}

TEST(PageGuardTest, NamesOfLoopbackAndOfHostsPassAtAnyPort) {
  for (const char* host : {"localhost", "LocalHost:1", "127.0.0.1:7473", "[::1]:7473", "[::1]", "web.site:80"}) {
    EXPECT_TRUE(Passes({.host = host, .origin = "", .token = "secret"})) << host;
    EXPECT_TRUE(Passes({.host = host, .origin = absl::StrCat("http://", host), .token = "secret"})) << host;
  }
  for (const char* host : {"", "evil.site", "localhost.evil.site", "127.0.0.1.evil.site:7473", "[::2]", "["}) {
    EXPECT_FALSE(Passes({.host = host, .origin = "", .token = "secret"})) << host;
  }
}

TEST(PageGuardTest, ForeignOriginsAndOtherTokensAreRefused) {
  for (const char* origin : {"null", "http://evil.site", "https://localhost:1", "http://localhost:2"}) {
    EXPECT_FALSE(Passes({.host = "localhost:1", .origin = origin, .token = "secret"})) << origin;
  }
  for (const char* token : {"", "secre", "secret2", "Secret"}) {
    EXPECT_FALSE(Passes({.host = "localhost", .origin = "", .token = token})) << token;
  }
}

TEST(PageGuardTest, APageOverTlsIsNoOriginWithoutIt) {
  EXPECT_TRUE(Passes({.host = "web.site", .origin = "https://web.site", .token = "secret"}, true));
  EXPECT_FALSE(Passes({.host = "web.site", .origin = "http://web.site", .token = "secret"}, true));
}

TEST(PageGuardTest, AnAddressCanBeOpened) {
  const PageSite site = {.is_https = true, .names = {"web.site", "n1"}};
  EXPECT_EQ(site.AddressOf("0.0.0.0:7473"), "https://web.site:7473");
  EXPECT_EQ(site.AddressOf("[::]:7473"), "https://web.site:7473");
  EXPECT_EQ(site.AddressOf("10.0.0.1:7473"), "https://10.0.0.1:7473");
  EXPECT_EQ(PageSite().AddressOf("127.0.0.1:7473"), "http://127.0.0.1:7473");
}

TEST(PageGuardTest, ACookieIsFoundAmongOthers) {
  EXPECT_EQ(CookieValue("a=1; token=2;b=3", "token"), "2");
  EXPECT_EQ(CookieValue("xtoken=1; tokens=2", "token"), "");
  EXPECT_EQ(CookieValue("", "token"), "");
}

TEST(PageGuardTest, ViewersBeyondTheLimitWaitUntilOneIsGone) {
  ViewerTable viewers(2);
  const absl::Time now = absl::FromUnixSeconds(100);
  EXPECT_TRUE(viewers.Note("a", now).ok());
  EXPECT_TRUE(viewers.Note("b", now).ok());
  EXPECT_TRUE(viewers.Note("a", now + absl::Seconds(9)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(viewers.Note("c", now + absl::Seconds(9))));
  EXPECT_TRUE(viewers.Note("c", now + absl::Seconds(11)).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(viewers.Note("b", now + absl::Seconds(11))));
  EXPECT_TRUE(absl::IsInvalidArgument(viewers.Note(std::string(65, 'x'), now)));
}

}  // namespace
}  // namespace copse::web
