// SPDX-License-Identifier: Apache-2.0
#include "base/config/tls_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/status_matchers.h"

namespace copse::config {
namespace {

using copse::testing::FailsWith;

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest() {
    std::filesystem::create_directory(folder_ + "/lists");
    Write("cert", "C");
    Write("key", "K");
    Write("ca", "A");
    chmod((folder_ + "/key").c_str(), 0600);
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ + "/" + name) << text; }
  TlsFiles Files() const { return {folder_ + "/cert", folder_ + "/key", folder_ + "/ca", ""}; }

  const std::string folder_ = [] {
    std::string name = std::string(getenv("TEST_TMPDIR")) + "/tls_XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
};

TEST_F(TlsFilesTest, AllAreGivenOrNone) {
  EXPECT_FALSE(CompleteTlsFiles({}, "n1")->given());
  TlsFiles files = {"/c/%h.pem", "/c/%h.key", "/c/ca.pem", "/c/%h"};
  EXPECT_EQ(*CompleteTlsFiles(files, "n1"), (TlsFiles{"/c/n1.pem", "/c/n1.key", "/c/ca.pem", "/c/n1"}));
  files.key = "";
  EXPECT_THAT(CompleteTlsFiles(files, "n1"), FailsWith(absl::StatusCode::kInvalidArgument, "tls_key: "));
  EXPECT_THAT(CompleteTlsFiles({.revoked = "/c"}, "n1"),
              FailsWith(absl::StatusCode::kInvalidArgument, "tls_crl_dir: "));
}

TEST_F(TlsFilesTest, ReadsTheTextsAndAllLists) {
  TlsFiles files = Files();
  EXPECT_EQ(ReadTlsFiles(files)->key, "K");
  EXPECT_EQ(ReadTlsFiles(files)->revoked(), "");
  Write("lists/b", "second");
  Write("lists/a", "first");
  files.revoked = folder_ + "/lists";
  EXPECT_EQ(ReadTlsFiles(files)->revoked(), "first\nsecond\n");
  EXPECT_EQ(ReadTlsFiles(files)->lists[1], (TlsList{folder_ + "/lists/b", "second"}));
}

TEST_F(TlsFilesTest, ErrorsNameKeyAndPath) {
  TlsFiles files = Files();
  files.authorities += "x";
  EXPECT_THAT(ReadTlsFiles(files), FailsWith(absl::StatusCode::kNotFound, "tls_ca: ", "tls_ca=" + files.authorities));
  files = Files();
  files.revoked = folder_ + "/none";
  EXPECT_THAT(ReadTlsFiles(files), FailsWith(absl::StatusCode::kNotFound, "tls_crl_dir: "));
  Write("cert", std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(ReadTlsFiles(Files()), FailsWith(absl::StatusCode::kInvalidArgument, "tls_cert: ", "limit=1048576"));
}

TEST_F(TlsFilesTest, OthersMayNotReadTheKey) {
  chmod((folder_ + "/key").c_str(), 0640);
  EXPECT_THAT(ReadTlsFiles(Files()), FailsWith(absl::StatusCode::kFailedPrecondition, "tls_key: ", "mode=0640"));
}

}  // namespace
}  // namespace copse::config
