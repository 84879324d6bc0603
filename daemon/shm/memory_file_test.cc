// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "base/unique_fd.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

constexpr uint64_t kBytes = 8192;

UniqueFd Memfd(unsigned flags, int seals) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC | flags));
  if (!fd.valid() || ftruncate(fd.get(), kBytes) != 0) return UniqueFd();
  if (seals != 0 && fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return UniqueFd();
  return fd;
}

void ExpectRefused(int fd, const char* thing) {
  EXPECT_THAT(CheckClientMemory(fd, kBytes), FailsWith(absl::StatusCode::kInvalidArgument, "memory: ", thing));
}

TEST(CheckClientMemoryTest, TakesAMemfdThatIsSealedAgainstShrinking) {
  EXPECT_TRUE(CheckClientMemory(Memfd(MFD_ALLOW_SEALING, F_SEAL_SHRINK).get(), kBytes).ok());
  EXPECT_TRUE(CheckClientMemory(Memfd(MFD_ALLOW_SEALING, F_SEAL_SHRINK | F_SEAL_GROW).get(), 1).ok());
}

TEST(CheckClientMemoryTest, RefusesAMemfdThatMayShrink) {
  ExpectRefused(Memfd(MFD_ALLOW_SEALING, 0).get(), "F_SEAL_SHRINK");
  ExpectRefused(Memfd(MFD_ALLOW_SEALING, F_SEAL_GROW).get(), "F_SEAL_SHRINK");
  ExpectRefused(Memfd(0, 0).get(), "F_SEAL_SHRINK");
}

TEST(CheckClientMemoryTest, RefusesAMemfdThatCannotBeWritten) {
  ExpectRefused(Memfd(MFD_ALLOW_SEALING, F_SEAL_SHRINK | F_SEAL_WRITE).get(), "seals=0xa");
  ExpectRefused(Memfd(MFD_ALLOW_SEALING, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE).get(), "seals=0x12");
  const UniqueFd fd = Memfd(MFD_ALLOW_SEALING, F_SEAL_SHRINK);
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  ExpectRefused(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)).get(), "O_RDWR");
}

TEST(CheckClientMemoryTest, RefusesAShortMemfd) {
  const UniqueFd fd = Memfd(MFD_ALLOW_SEALING, F_SEAL_SHRINK);
  EXPECT_TRUE(CheckClientMemory(fd.get(), kBytes).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(CheckClientMemory(fd.get(), kBytes + 1)));
}

TEST(CheckClientMemoryTest, RefusesPipesSocketsAndFolders) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  ExpectRefused(reader.get(), "mode=0x1000");
  ExpectRefused(UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)).get(), "mode=0xc000");
  ExpectRefused(UniqueFd(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)).get(), "mode=0x4000");
}

TEST(CheckClientMemoryTest, RefusesFilesOnDiskAndOnTmpfs) {
  // Where neither is a tmpfs, the second is one: a file there cannot be sealed.
  for (const std::string& folder : {::testing::TempDir(), std::string("/dev/shm")}) {
    std::string path = folder + "/copse_memory_XXXXXX";
    const UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
    if (!fd.valid()) continue;  // no /dev/shm in some sandboxes
    unlink(path.c_str());
    ASSERT_EQ(ftruncate(fd.get(), kBytes), 0);
    EXPECT_TRUE(absl::IsInvalidArgument(CheckClientMemory(fd.get(), kBytes))) << path;
  }
}

TEST(CheckClientMemoryTest, RefusesHugePages) {
  // Creating one needs no huge pages, only a kernel that knows them.
  const UniqueFd fd(memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!fd.valid()) GTEST_SKIP() << "no hugetlb in this kernel";
  ASSERT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  ExpectRefused(fd.get(), "MFD_HUGETLB");
}

TEST(CheckClientMemoryTest, RefusesAClosedDescriptor) { EXPECT_FALSE(CheckClientMemory(-1, kBytes).ok()); }

TEST(CreateMemoryFileTest, CannotBeResizedOrSealedOnceSealed) {
  const absl::StatusOr<UniqueFd> fd = CreateMemoryFile("test", kBytes);
  ASSERT_TRUE(fd.ok()) << fd.status();
  ASSERT_TRUE(SealSeals(fd->get(), /*against_new_writers=*/false).ok());
  EXPECT_NE(ftruncate(fd->get(), kBytes / 2), 0);
  EXPECT_NE(ftruncate(fd->get(), kBytes * 2), 0);
  EXPECT_NE(fcntl(fd->get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_FALSE(SealSeals(fd->get(), /*against_new_writers=*/true).ok());
  EXPECT_TRUE(Mapping::Map(fd->get(), kBytes).ok());
}

TEST(CreateMemoryFileTest, SealedAgainstNewWritersOnlyTheFirstMappingWrites) {
  const absl::StatusOr<UniqueFd> fd = CreateMemoryFile("test", kBytes);
  ASSERT_TRUE(fd.ok()) << fd.status();
  const absl::StatusOr<Mapping> mapping = Mapping::Map(fd->get(), kBytes);
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  ASSERT_TRUE(SealSeals(fd->get(), /*against_new_writers=*/true).ok());
  mapping->data()[0] = 7;
  EXPECT_FALSE(Mapping::Map(fd->get(), kBytes).ok());
  EXPECT_LT(pwrite(fd->get(), "x", 1, 0), 0);
  void* const read_only = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd->get(), 0);
  ASSERT_NE(read_only, MAP_FAILED);
  EXPECT_EQ(*static_cast<uint8_t*>(read_only), 7);
  EXPECT_NE(mprotect(read_only, kBytes, PROT_READ | PROT_WRITE), 0);
  munmap(read_only, kBytes);
}

}  // namespace
}  // namespace copse::daemon
