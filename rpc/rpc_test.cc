// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rpc/credentials.h"
#include "rpc/status.h"
#include "rpc/text.h"

namespace copse::rpc {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(StatusTest, CodesAndTextsPassTheBorder) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "text");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
  EXPECT_EQ(ToGrpc(absl::NotFoundError("x")).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(StatusTest, ExitCodesAreTheFive) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::NotFoundError("")), 1);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCode(absl::UnavailableError("")), 3);
  EXPECT_EQ(ExitCode(absl::DeadlineExceededError("")), 4);
}

TEST(CredentialsTest, LoopbackIsKnownWithoutLookups) {
  for (const char* address : {"127.0.0.1:1", "127.1.2.3:0", "[::1]:7470", "localhost:5", "unix:/run/x", "unix:@x"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address :
       {"0.0.0.0:1", "[::]:1", "n1:7470", "10.0.0.1:1", "128.0.0.1:1", "127.0.0.1", "localhost.evil.org:1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

TEST(CredentialsTest, AddressesAreChecked) {
  for (const char* address : {"n1:0", "n1:65535", "[fe80::1]:1", "unix:/x", "1.2.3.4:7470"}) {
    EXPECT_TRUE(CheckAddress(address).ok()) << address;
  }
  for (const char* address :
       {"", "n1", ":1", "n1:", "n1:65536", "n1:x", "n1:-1", "n1:1x", "::1:5", "[]:1", "[::1:5", "unix:"}) {
    EXPECT_THAT(CheckAddress(address), FailsWith(kInvalid, absl::StrCat("(address=", address, ")")));
  }
  EXPECT_THAT(CheckAddress("n1:65536"), FailsWith(kInvalid, "65535"));
}

TEST(CredentialsTest, BeyondLoopbackOnlyIfInsecureIsSaid) {
  const CredentialsFactory closed({}), open({.insecure = true});
  EXPECT_TRUE(closed.Server("127.0.0.1:0").ok());
  EXPECT_TRUE(closed.Channel("localhost:1").ok());
  EXPECT_THAT(closed.Server("0.0.0.0:7470"), FailsWith(kInvalid, "insecure: true", "address=0.0.0.0:7470"));
  EXPECT_THAT(closed.Channel("n1:7470"), FailsWith(kInvalid, "insecure: true", "address=n1:7470"));
  const CredentialsFactory flagged({.insecure_by = "--insecure"});
  EXPECT_THAT(flagged.Channel("n1:7470"), FailsWith(kInvalid, "--insecure", "address=n1:7470"));
  EXPECT_EQ(closed.Server("x").status().code(), kInvalid);
  EXPECT_TRUE(open.Server("0.0.0.0:7470").ok());
  EXPECT_TRUE(open.Channel("n1:7470").ok());
  EXPECT_FALSE(open.Channel("n1").ok());
}

TEST(TokenFileTest, IsReadIfItIsPrivateAndNotEmpty) {
  const std::string path = absl::StrCat(std::getenv("TEST_TMPDIR"), "/token");
  const auto write = [&](const std::string& text, mode_t mode) {
    unlink(path.c_str());
    std::ofstream(path) << text;
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  };
  using Tokens = std::vector<std::string>;
  EXPECT_EQ(*ReadTokenFile(""), Tokens());
  EXPECT_THAT(ReadTokenFile("/nonexistent/t"), FailsWith(absl::StatusCode::kNotFound, "file=/nonexistent/t"));
  write(" secret ", 0400);
  EXPECT_EQ(*ReadTokenFile(path), Tokens{"secret"});
  write("new\n\n old\n", 0600);
  EXPECT_EQ(*ReadTokenFile(path), (Tokens{"new", "old"})) << "while the one takes the other's place";
  for (const mode_t mode : {0640, 0620, 0604, 0602}) {
    write("secret", mode);
    EXPECT_THAT(ReadTokenFile(path),
                FailsWith(absl::StatusCode::kFailedPrecondition, "file=" + path, absl::StrFormat("mode=%04o", mode)));
  }
  for (const std::string& text :
       {std::string("\n"), std::string("a\nb\nc\n"), std::string(257, 'x'), "a\n" + std::string(5000, '\n') + "b"}) {
    write(text, 0600);
    EXPECT_THAT(ReadTokenFile(path), FailsWith(kInvalid, path));
  }
}

TEST(TextTest, BecomesUtf8WithoutControlCharacters) {
  EXPECT_EQ(ToUtf8("plain \xc3\xbc \xe2\x82\xac \xf0\x9f\x8c\xb2"), "plain \xc3\xbc \xe2\x82\xac \xf0\x9f\x8c\xb2");
  EXPECT_EQ(ToUtf8("a\tb\n\x7f"), "a b  ");
  EXPECT_EQ(ToUtf8("\xff\xc3"), "??");
  EXPECT_EQ(ToUtf8("\xc0\x80"), "??");  // an overlong encoding
  EXPECT_EQ(ToUtf8("\xe0\x80\x80"), "???");
  EXPECT_EQ(ToUtf8("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(ToUtf8("\xf4\x90\x80\x80"), "????");  // beyond Unicode
  EXPECT_EQ(ToUtf8("\xf0\x80\x80\x80"), "????");
  EXPECT_EQ(ToUtf8("\xe2\x82z"), "??z");
  EXPECT_EQ(ToUtf8("ab\xc3\xbc", 3), "ab");
}

}  // namespace
}  // namespace copse::rpc
