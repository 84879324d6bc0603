// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/memory_kind.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

const uint64_t kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

Range RangeOf(const void* address, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return {begin, begin + bytes};
}

char static_memory[100'000];

// Sanitizers have their own.
bool IsMallocOfLibc() {
  Dl_info info;
  void* const found = dlsym(RTLD_DEFAULT, "malloc");
  return dladdr(found, &info) != 0 && std::string_view(info.dli_fname).find("/libc.so.") != std::string_view::npos;
}

TEST(MemoryKindTest, PrivateMemoryMayBeProtected) {
  EXPECT_TRUE(MayProtect(RangeOf(static_memory, sizeof(static_memory))));
  for (const size_t bytes : {1000, 100'000, 10'000'000}) {
    const std::unique_ptr<char, void (*)(void*)> memory(static_cast<char*>(malloc(bytes)), free);
    EXPECT_TRUE(MayProtect(RangeOf(memory.get(), bytes))) << bytes;
  }
}

TEST(MemoryKindTest, WhatMallocHasMappedHasItsPagesForItself) {
  if (!IsMallocOfLibc()) GTEST_SKIP() << "malloc is not libc's";
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // which rises else, as such memory is freed
  for (const size_t bytes : {1 << 20, (1 << 20) + 1, (1 << 20) + 4095}) {
    for (const bool is_aligned : {false, true}) {
      void* const memory = is_aligned ? aligned_alloc(256, bytes) : malloc(bytes);
      const std::unique_ptr<char, void (*)(void*)> holder(static_cast<char*>(memory), free);
      const Range range = RangeOf(memory, bytes);
      const Spare spare = SpareAround(range);
      EXPECT_EQ(spare.before, range.begin % kPage);
      EXPECT_EQ((range.end + spare.behind) % kPage, 0u);
      // Not of a part of it, whose neighbors are the program's data.
      EXPECT_EQ(SpareAround({range.begin, range.begin + bytes / 2}).behind, 0u);
      EXPECT_EQ(SpareAround({range.begin, range.end + spare.behind - kPage}).behind, 0u);
      EXPECT_EQ(SpareAround({range.begin + 64, range.end}).behind, 0u);
      EXPECT_EQ(SpareAround({range.begin + kPage, range.end}).before, 0u);
    }
  }
  // What lies in a heap has others beside it.
  const std::unique_ptr<char, void (*)(void*)> small(static_cast<char*>(malloc(10'000)), free);
  EXPECT_EQ(SpareAround(RangeOf(small.get(), 10'000)).behind, 0u);
  EXPECT_EQ(SpareAround(RangeOf(static_memory, sizeof(static_memory))).before, 0u);
}

TEST(MemoryKindTest, PrivateMemoryOfAFileMayBeProtected) {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  void* const mapped = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(file);
  EXPECT_EQ(KindOf(RangeOf(mapped, 1)), MemoryKind::kPrivate);
  munmap(mapped, kPage);
}

TEST(MemoryKindTest, OursIsSharedMemoryOfOurName) {
  for (const char* name : {"copse", "other"}) {
    const int file = memfd_create(name, MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, static_cast<off_t>(4 * kPage)), 0);
    void* const mapped = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, kPage);
    close(file);
    ASSERT_NE(mapped, MAP_FAILED);
    const bool is_ours = strcmp(name, "copse") == 0;
    EXPECT_EQ(KindOf(RangeOf(mapped, 2 * kPage)), is_ours ? MemoryKind::kOurs : MemoryKind::kOther) << name;
    EXPECT_EQ(MayProtect(RangeOf(mapped, 2 * kPage)), is_ours) << name;
    EXPECT_FALSE(MayExchange(RangeOf(mapped, 2 * kPage))) << name;
    // A page within it belongs to the same mapping.
    const auto found = MappingAt(reinterpret_cast<uintptr_t>(mapped) + kPage);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->range, RangeOf(mapped, 2 * kPage));
    EXPECT_EQ(found->offset, kPage);
    EXPECT_EQ(found->rights, PROT_READ | PROT_WRITE);
    EXPECT_NE(found->inode, 0u);
    munmap(mapped, 2 * kPage);
    EXPECT_FALSE(MappingAt(reinterpret_cast<uintptr_t>(mapped)).has_value());
  }
}

// io_uring's registered buffers are the pinned pages that need no device.
TEST(MemoryKindTest, PinnedPagesAreNoticed) {
  if (DevicesMayKnowPages()) GTEST_SKIP() << "there are some already";
  io_uring_params params{};
  const auto ring = static_cast<int>(syscall(SYS_io_uring_setup, 4, &params));
  if (ring < 0) GTEST_SKIP() << "io_uring is not allowed here";
  auto* const memory =
      static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_TRUE(MayExchange(RangeOf(memory, 4 * kPage)));
  const iovec buffer = {memory, 4 * kPage};
  ASSERT_EQ(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1), 0);
  EXPECT_TRUE(DevicesMayKnowPages());
  EXPECT_FALSE(MayExchange(RangeOf(memory, 4 * kPage)));
  ASSERT_EQ(syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, nullptr, 0), 0);
  EXPECT_FALSE(DevicesMayKnowPages());
  close(ring);
  munmap(memory, 4 * kPage);
}

TEST(MemoryKindTest, LookingForDevicesKeepsNoDescriptor) {
  DevicesMayKnowPages();
  const int before = dup(STDERR_FILENO);
  ASSERT_GE(before, 0);
  close(before);
  DevicesMayKnowPages();
  const int after = dup(STDERR_FILENO);
  close(after);
  EXPECT_EQ(after, before);
}

TEST(MemoryKindTest, GpusAreKnownByTheirFiles) {
  EXPECT_TRUE(IsOfGpu("7f0000000000-7f0000001000 rw-s 00000000 00:05 513   /dev/nvidiactl\n"));
  EXPECT_TRUE(IsOfGpu("7f0000000000-7f0000001000 rw-s 00000000 00:05 514   /dev/kfd\n"));
  EXPECT_TRUE(IsOfGpu("7f0000000000-7f0000001000 rw-s 00000000 00:05 515   /dev/dri/renderD128\n"));
  EXPECT_FALSE(IsOfGpu("7f0000000000-7f0000001000 r-xp 00000000 08:01 516   /usr/lib/dev/nvidia.so\n"));
}

// As the maps of kernels are read that do not know the query.
TEST(MemoryKindTest, LinesSayWhetherMemoryIsShared) {
  constexpr uintptr_t kAddress = 0x7f0000001000;
  const auto kind_of = [](const std::string& rights, const std::string& name) {
    const auto info =
        MappingOfLine(("7f0000000000-7f0000200000 " + rights + " 00000000 00:01 518   " + name).c_str(), kAddress);
    return info.has_value() ? info->kind : MemoryKind::kOther;
  };
  EXPECT_EQ(kind_of("rw-s", "/memfd:copse (deleted)"), MemoryKind::kOurs);
  EXPECT_EQ(kind_of("rw-p", "/memfd:copse (deleted)"), MemoryKind::kPrivate);
  EXPECT_EQ(kind_of("rw-s", "/memfd:other (deleted)"), MemoryKind::kOther);
}

TEST(MemoryKindTest, HugePagesAreKnownByTheirName) {
  constexpr uintptr_t kAddress = 0x7f0000001000;
  const auto heap = MappingOfLine("7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n", kAddress);
  ASSERT_TRUE(heap.has_value());
  EXPECT_EQ(heap->range.bytes(), 0x200000u);
  EXPECT_EQ(heap->kind, MemoryKind::kPrivate);
  const auto huge =
      MappingOfLine("7f0000000000-7f0000200000 rw-p 00000000 00:0f 517   /anon_hugepage (deleted)\n", kAddress);
  ASSERT_TRUE(huge.has_value());
  EXPECT_EQ(huge->kind, MemoryKind::kOther);
  EXPECT_EQ(huge->inode, 517u);
  EXPECT_FALSE(MappingOfLine("no line of it", kAddress).has_value());
  EXPECT_FALSE(MappingOfLine("7f0000200000-7f0000400000 rw-p 00000000 00:00 0 \n", kAddress).has_value());
}

TEST(MemoryKindTest, StacksMayNot) {
  char local[100'000];
  local[0] = 1;
  EXPECT_FALSE(MayProtect(RangeOf(local, sizeof(local))));
}

TEST(MemoryKindTest, SharedReadOnlyExecutableAndAbsentMemoryMayNot) {
  struct Case {
    const char* name;
    int rights, flags;
  };
  for (const Case& c : {Case{"shared", PROT_READ | PROT_WRITE, MAP_SHARED}, Case{"read only", PROT_READ, MAP_PRIVATE},
                        Case{"executable", PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE},
                        Case{"inaccessible", PROT_NONE, MAP_PRIVATE}}) {
    void* const memory = mmap(nullptr, 2 * kPage, c.rights, c.flags | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_FALSE(MayProtect(RangeOf(memory, kPage))) << c.name;
    munmap(memory, 2 * kPage);
    EXPECT_FALSE(MayProtect(RangeOf(memory, kPage))) << c.name;
  }
}

TEST(MemoryKindTest, AllOfARangeHasToBeFit) {
  auto* const memory =
      static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_TRUE(MayProtect(RangeOf(memory, 4 * kPage)));
  ASSERT_EQ(mprotect(memory + 2 * kPage, kPage, PROT_READ), 0);
  EXPECT_TRUE(MayProtect(RangeOf(memory, 2 * kPage)));
  EXPECT_FALSE(MayProtect(RangeOf(memory, 2 * kPage + 1)));
  EXPECT_FALSE(MayProtect(RangeOf(memory, 4 * kPage)));
  munmap(memory, 4 * kPage);
}

}  // namespace
}  // namespace copse::tnbc
