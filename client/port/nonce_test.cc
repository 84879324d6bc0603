// SPDX-License-Identifier: Apache-2.0

#include "client/port/nonce.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace copse::client {
namespace {

TEST(NonceTest, NoncesDifferAndAreNotZero) {
  const uint64_t first = RandomNonce();
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, RandomNonce());
}

bool RefuseRandomBytes(unsigned error) {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = 4, .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(NonceTest, AKernelThatRefusesRandomBytesIsNotAskedForEver) {
  for (const unsigned error : {ENOSYS, EPERM}) {
    const pid_t child = fork();
    if (child == 0) {
      if (!RefuseRandomBytes(error)) _exit(77);
      const uint64_t first = RandomNonce();
      _exit(first != 0 && first != RandomNonce() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "system calls cannot be filtered here";
    EXPECT_EQ(status, 0) << error;
  }
}

}  // namespace
}  // namespace copse::client
