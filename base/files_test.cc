// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace copse {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() { std::filesystem::create_directory(folder_); }
  size_t FilesInFolder() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  const std::string folder_ =
      std::string(getenv("TEST_TMPDIR")) + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string file_ = folder_ + "/file";
};

TEST_F(FilesTest, AnEmptyFileIsRead) {
  ASSERT_TRUE(WriteFile(file_, ""));
  EXPECT_EQ(ReadFile(file_), "");
}

TEST_F(FilesTest, AFileThatCannotBeReadSetsErrno) {
  EXPECT_EQ(ReadFile(file_), std::nullopt);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(ReadFile(folder_), std::nullopt);
  EXPECT_EQ(errno, EISDIR);
}

TEST_F(FilesTest, OneByteMoreThanTheLimitIsRead) {
  ASSERT_TRUE(WriteFile(file_, "12345"));
  EXPECT_EQ(ReadFile(file_, 5), "12345");
  EXPECT_EQ(ReadFile(file_, 3), "1234");
}

TEST_F(FilesTest, AReplacedFileHasTextAndModeAndNothingIsLeftBesideIt) {
  ASSERT_TRUE(WriteFile(file_, "old"));
  ASSERT_TRUE(ReplaceFile(file_, "new", 0600));
  EXPECT_EQ(ReadFile(file_), "new");
  struct stat status;
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(FilesTest, AFailedReplacementLeavesNothing) {
  std::filesystem::create_directory(file_);
  EXPECT_FALSE(ReplaceFile(file_, "new"));
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(FilesInFolder(), 1u) << "the folder of the file's name";
  EXPECT_FALSE(ReplaceFile(folder_ + "/none/file", "new"));
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace copse
