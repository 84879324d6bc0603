// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/contexts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/status_matchers.h"

namespace copse::ctl {
namespace {

using copse::testing::FailsWith;

class ContextsTest : public ::testing::Test {
 protected:
  ContextsTest() {
    std::filesystem::remove_all(root_);
    Write(site_ + "/contexts/big.yaml", "endpoint: p1:7470,p2:7470\ncert: /etc/c.pem\nkey: k.pem\ncacert: ../ca.pem\n");
    Write(site_ + "/contexts/test.yaml", "endpoint: t:7470\n");
    Write(own_ + "/contexts/test.yaml", "endpoint: mine:7470\ninsecure: true\ntoken_file: token\n");
  }
  static void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }

  const std::string root_ = ::testing::TempDir() + "/contexts_test", own_ = root_ + "/own", site_ = root_ + "/site";
  const ContextFolders folders_{{own_, site_}};
};

TEST_F(ContextsTest, TheUsersComeBeforeTheMachines) {
  EXPECT_EQ(folders_.Files(), (std::map<std::string, std::string>{{"big", site_ + "/contexts/big.yaml"},
                                                                  {"test", own_ + "/contexts/test.yaml"}}));
  const auto test = folders_.Read("test");
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ(test->endpoint, "mine:7470");
  EXPECT_TRUE(test->insecure);
  EXPECT_EQ(test->token_file, own_ + "/contexts/token");
  EXPECT_FALSE(test->tls.given());
}

TEST_F(ContextsTest, PathsAreRelativeToTheFile) {
  const auto big = folders_.Read("big");
  ASSERT_TRUE(big.ok()) << big.status();
  EXPECT_EQ(big->tls, (config::TlsFiles{.certificate = "/etc/c.pem",
                                        .key = site_ + "/contexts/k.pem",
                                        .authorities = site_ + "/contexts/../ca.pem"}));
}

TEST_F(ContextsTest, OneIsInUse) {
  EXPECT_EQ(folders_.Current(), "");
  Write(site_ + "/context", "big\n");
  EXPECT_EQ(folders_.Current(), "big");
  EXPECT_TRUE(folders_.Use("test").ok());
  EXPECT_EQ(folders_.Current(), "test");
  EXPECT_THAT(folders_.Use("../big"), FailsWith(absl::StatusCode::kNotFound, "context=../big", "known=big,test"));
  EXPECT_EQ(folders_.Current(), "test");
  Write(root_ + "/file", "");
  const ContextFolders nowhere({root_ + "/file", site_});
  EXPECT_THAT(nowhere.Use("big"), FailsWith(absl::StatusCode::kFailedPrecondition, "file=" + root_ + "/file/context"));
}

TEST_F(ContextsTest, MistakesAreNamedWithFileAndLine) {
  const std::string file = own_ + "/contexts/bad.yaml";
  for (const auto& [text, what] : {std::pair("\nendpiont: x\n", "key=endpiont"),
                                   {"\ninsecure: perhaps\n", "value=perhaps"},
                                   {"\n- x\n", "bad.yaml"}}) {
    Write(file, text);
    EXPECT_THAT(folders_.Read("bad"), FailsWith(absl::StatusCode::kInvalidArgument, what, "file=" + file + ":2"));
  }
}

}  // namespace
}  // namespace copse::ctl
