// SPDX-License-Identifier: Apache-2.0
#include "base/process/missing_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "absl/status/statusor.h"
#include "base/process/lost_memory.h"
#include "base/unique_fd.h"

namespace copse {
namespace {

constexpr uint64_t kBytes = 16 * 4096;

class MissingPagesTest : public ::testing::Test {
 protected:
  MissingPagesTest() { CatchMemoryFaults(); }
  ~MissingPagesTest() override { munmap(mapped_, kBytes); }

  void SetUp() override {
    ASSERT_EQ(ftruncate(file_.get(), kBytes), 0);
    mapped_ = static_cast<uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    ASSERT_NE(mapped_, MAP_FAILED);
    if (!RefuseMissingPages(mapped_, kBytes))
      GTEST_SKIP() << "the kernel has no userfaultfd for unprivileged processes";
  }
  void WriteAll() {
    const std::string text(kBytes, 'x');
    ASSERT_EQ(pwrite(file_.get(), text.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  }
  uint64_t Pages() const {
    struct stat file {};
    fstat(file_.get(), &file);
    return static_cast<uint64_t>(file.st_blocks) * 512 / 4096;
  }

  UniqueFd file_{memfd_create("test", MFD_CLOEXEC)};
  uint8_t* mapped_ = nullptr;
};

TEST_F(MissingPagesTest, PagesThatExistAreAccessible) {
  WriteAll();
  EXPECT_TRUE(HasAllPages(file_.get(), kBytes));
  memset(mapped_, 'y', kBytes);
  EXPECT_EQ(mapped_[kBytes - 1], 'y');
}

TEST_F(MissingPagesTest, AMissingPageIsLostAndNotMade) {
  const absl::StatusOr<TrackedMemory> tracked = TrackedMemory::Track(mapped_, kBytes);
  ASSERT_TRUE(tracked.ok());
  WriteAll();
  ASSERT_EQ(fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 8192), 0);
  EXPECT_FALSE(HasAllPages(file_.get(), kBytes));
  EXPECT_TRUE(HasAllPages(file_.get(), 4096));
  memset(mapped_, 'y', kBytes);
  EXPECT_TRUE(tracked->lost());
  EXPECT_EQ(Pages(), 14u) << "two were removed";
}

TEST_F(MissingPagesTest, TheKernelMakesNoneEither) {
  const UniqueFd zeros(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(read(zeros.get(), mapped_, 4096), -1);
  EXPECT_EQ(Pages(), 0u);
}

}  // namespace
}  // namespace copse
