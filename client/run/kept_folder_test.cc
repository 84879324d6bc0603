// SPDX-License-Identifier: Apache-2.0
#include "client/run/kept_folder.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

using copse::testing::FailsWith;

class KeptFolderTest : public ::testing::Test {
 protected:
  KeptFolderTest() {
    std::filesystem::remove_all(parent_);
    std::filesystem::create_directory(parent_);
  }
  static absl::StatusOr<KeptFolder> Make(const std::string& folder) {
    return KeptFolder::Make(folder, folder + ".draft");
  }
  // A folder as a killed keeper leaves it.
  static void Leave(const std::string& folder) {
    ASSERT_TRUE(Make(folder).ok());
    std::ofstream(folder + "/secret") << "x";
  }

  const std::string parent_ = ::testing::TempDir() + "/kept_folder_test", folder_ = parent_ + "/copse-run-1";
};

TEST_F(KeptFolderTest, IsRemovedOnceNobodyKeepsIt) {
  {
    const auto kept = Make(folder_);
    ASSERT_TRUE(kept.ok()) << kept.status();
    RemoveAbandoned(folder_);
    RemoveAllAbandoned(parent_);
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/kept"));
  }
  RemoveAllAbandoned(parent_);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(KeptFolderTest, WhatARemovalLeavesIsRemoved) {
  Leave(folder_);
  std::filesystem::remove(folder_ + "/told");
  RemoveAbandoned(folder_);
  EXPECT_FALSE(std::filesystem::exists(folder_));
  std::filesystem::create_directory(folder_);
  RemoveAbandoned(folder_);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(KeptFolderTest, IsMadeByOne) {
  const auto kept = Make(folder_);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(Make(folder_), FailsWith(absl::StatusCode::kAlreadyExists, folder_));
  EXPECT_FALSE(std::filesystem::exists(folder_ + ".draft"));
}

TEST_F(KeptFolderTest, ThoseThatWaitAreTold) {
  std::optional<KeptFolder> kept = *Make(folder_);
  auto told = std::async(std::launch::async, [this] { return AwaitTold(folder_); });
  kept->Tell("+all is well");
  EXPECT_EQ(told.get().value(), "+all is well");
  EXPECT_EQ(AwaitTold(folder_).value(), "+all is well");
}

TEST_F(KeptFolderTest, ThoseThatWaitLearnThatTheKeeperHasEnded) {
  std::optional<KeptFolder> kept = *Make(folder_);
  auto told = std::async(std::launch::async, [this] { return AwaitTold(folder_); });
  kept.reset();
  EXPECT_EQ(told.get().value(), "");
}

TEST_F(KeptFolderTest, FoldersThatAreNotTheUsersAloneAreNotWaitedFor) {
  EXPECT_THAT(AwaitTold(folder_), FailsWith(absl::StatusCode::kNotFound, folder_));
  std::filesystem::create_directory(folder_);
  std::filesystem::permissions(folder_, std::filesystem::perms(0750));
  EXPECT_THAT(AwaitTold(folder_), FailsWith(absl::StatusCode::kPermissionDenied, "path=" + folder_));
  std::filesystem::create_directory_symlink(folder_, folder_ + "link");
  EXPECT_THAT(AwaitTold(folder_ + "link"), FailsWith(absl::StatusCode::kPermissionDenied));
}

TEST_F(KeptFolderTest, FoldersOfOtherMachinesAndOtherFoldersRemain) {
  const std::string other = parent_ + "/other";
  Leave(folder_);
  Leave(other);
  std::ofstream(folder_ + "/kept") << "another-machine";
  RemoveAbandoned(folder_);
  RemoveAllAbandoned(parent_);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/secret"));
  EXPECT_TRUE(std::filesystem::exists(other + "/secret"));
}

TEST_F(KeptFolderTest, LinksAreNotFollowed) {
  const std::string target = parent_ + "/target";
  Leave(target);
  std::filesystem::create_directory_symlink(target, folder_);
  RemoveAllAbandoned(parent_);
  RemoveAbandoned(folder_);
  EXPECT_TRUE(std::filesystem::exists(target + "/secret"));
}

TEST_F(KeptFolderTest, WhereNothingCanBeMadeThePathIsNamed) {
  EXPECT_THAT(Make(parent_ + "/no/folder"),
              FailsWith(absl::StatusCode::kUnavailable, "path=" + parent_ + "/no/folder.draft"));
  std::ofstream(folder_) << "a file";
  EXPECT_THAT(Make(folder_), FailsWith(absl::StatusCode::kUnavailable, "path=" + folder_));
  EXPECT_FALSE(std::filesystem::exists(folder_ + ".draft"));
}

}  // namespace
}  // namespace copse::run
