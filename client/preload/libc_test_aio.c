/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for libaio, as far as libc_calls_test uses it. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int io_submit(aio_context_t context, long count, struct iocb** blocks) {
  const long result = syscall(SYS_io_submit, context, count, blocks);
  return result < 0 ? -errno : (int)result;
}
