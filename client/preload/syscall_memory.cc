// SPDX-License-Identifier: Apache-2.0
#include "client/preload/syscall_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "client/preload/libc_next.h"

#if defined(__x86_64__)

namespace copse::preload {
namespace {

// A Kind says how an argument refers to memory.
enum class Kind : uint8_t {
  kNot,
  kSized,     // `bytes` bytes
  kItems,     // an array: `bytes` per item, `count` items
  kText,      // a string up to a zero
  kVectors,   // an array of `count` iovecs
  kMessage,   // a msghdr
  kMessages,  // an array of `count` mmsghdrs
};
struct Part {
  Kind kind = Kind::kNot;
  uint8_t at = 0;     // index of the argument, from 0
  uint8_t count = 0;  // index of the argument with that number
  uint16_t bytes = 0;
};
constexpr Part Sized(uint8_t at, uint16_t bytes) { return {Kind::kSized, at, 0, bytes}; }
constexpr Part Items(uint8_t at, uint8_t count, uint16_t bytes) { return {Kind::kItems, at, count, bytes}; }
constexpr Part Bytes(uint8_t at, uint8_t count) { return Items(at, count, 1); }
constexpr Part Text(uint8_t at) { return {Kind::kText, at, 0, 0}; }
constexpr Part Vectors(uint8_t at, uint8_t count) { return {Kind::kVectors, at, count, 0}; }
constexpr Part Message(uint8_t at) { return {Kind::kMessage, at, 0, 0}; }
constexpr Part Messages(uint8_t at, uint8_t count) { return {Kind::kMessages, at, count, 0}; }

constexpr int kPartsMax = 5;
struct KnownCall {
  int number;
  Part parts[kPartsMax];
};

// These are upper bounds on the sizes of the kernel's structures, in bytes.
constexpr uint16_t kTime = 16, kTimer = 32, kStat = 256, kUsage = 144, kAddress = 128, kEvent = 12, kSet = 128;
constexpr int kLockPi2 = 13;  // FUTEX_LOCK_PI2, which older headers lack

// The arguments of these calls always have these meanings; sizes are upper bounds. A call that is neither here nor in
// AwaitVariant may access any memory. Arguments that a call does not always have are not listed: their registers may
// hold old addresses of pending memory, and to wait for that could take for ever if the thread holds a lock.
constexpr KnownCall kCalls[] = {
    {SYS_read, {Bytes(1, 2)}},
    {SYS_write, {Bytes(1, 2)}},
    {SYS_pread64, {Bytes(1, 2)}},
    {SYS_pwrite64, {Bytes(1, 2)}},
    {SYS_readv, {Vectors(1, 2)}},
    {SYS_writev, {Vectors(1, 2)}},
    {SYS_preadv, {Vectors(1, 2)}},
    {SYS_pwritev, {Vectors(1, 2)}},
    {SYS_preadv2, {Vectors(1, 2)}},
    {SYS_pwritev2, {Vectors(1, 2)}},
    {SYS_vmsplice, {Vectors(1, 2)}},
    {SYS_process_vm_readv, {Vectors(1, 2), Vectors(3, 4)}},
    {SYS_process_vm_writev, {Vectors(1, 2), Vectors(3, 4)}},
    {SYS_sendfile, {Sized(2, 8)}},
    {SYS_splice, {Sized(1, 8), Sized(3, 8)}},
    {SYS_copy_file_range, {Sized(1, 8), Sized(3, 8)}},
    {SYS_tee, {}},

    {SYS_socket, {}},
    {SYS_listen, {}},
    {SYS_shutdown, {}},
    {SYS_socketpair, {Sized(3, 8)}},
    {SYS_bind, {Bytes(1, 2)}},
    {SYS_connect, {Bytes(1, 2)}},
    {SYS_accept, {Sized(1, kAddress), Sized(2, 4)}},
    {SYS_accept4, {Sized(1, kAddress), Sized(2, 4)}},
    {SYS_getsockname, {Sized(1, kAddress), Sized(2, 4)}},
    {SYS_getpeername, {Sized(1, kAddress), Sized(2, 4)}},
    {SYS_sendto, {Bytes(1, 2), Sized(4, kAddress)}},
    {SYS_recvfrom, {Bytes(1, 2), Sized(4, kAddress), Sized(5, 4)}},
    {SYS_sendmsg, {Message(1)}},
    {SYS_recvmsg, {Message(1)}},
    {SYS_sendmmsg, {Messages(1, 2)}},
    {SYS_recvmmsg, {Messages(1, 2), Sized(4, kTime)}},

    {SYS_open, {Text(0)}},
    {SYS_openat, {Text(1)}},
    {SYS_creat, {Text(0)}},
    {SYS_close, {}},
    {SYS_close_range, {}},
    {SYS_dup, {}},
    {SYS_dup2, {}},
    {SYS_dup3, {}},
    {SYS_lseek, {}},
    {SYS_flock, {}},
    {SYS_fsync, {}},
    {SYS_fdatasync, {}},
    {SYS_truncate, {Text(0)}},
    {SYS_ftruncate, {}},
    {SYS_fallocate, {}},
    {SYS_fadvise64, {}},
    {SYS_pipe, {Sized(0, 8)}},
    {SYS_pipe2, {Sized(0, 8)}},
    {SYS_stat, {Text(0), Sized(1, kStat)}},
    {SYS_lstat, {Text(0), Sized(1, kStat)}},
    {SYS_fstat, {Sized(1, kStat)}},
    {SYS_newfstatat, {Text(1), Sized(2, kStat)}},
    {SYS_statx, {Text(1), Sized(4, kStat)}},
    {SYS_statfs, {Text(0), Sized(1, kStat)}},
    {SYS_fstatfs, {Sized(1, kStat)}},
    {SYS_access, {Text(0)}},
    {SYS_faccessat, {Text(1)}},
    {SYS_faccessat2, {Text(1)}},
    {SYS_readlink, {Text(0), Bytes(1, 2)}},
    {SYS_readlinkat, {Text(1), Bytes(2, 3)}},
    {SYS_getdents, {Bytes(1, 2)}},
    {SYS_getdents64, {Bytes(1, 2)}},
    {SYS_getcwd, {Bytes(0, 1)}},
    {SYS_chdir, {Text(0)}},
    {SYS_fchdir, {}},
    {SYS_mkdir, {Text(0)}},
    {SYS_mkdirat, {Text(1)}},
    {SYS_rmdir, {Text(0)}},
    {SYS_unlink, {Text(0)}},
    {SYS_unlinkat, {Text(1)}},
    {SYS_rename, {Text(0), Text(1)}},
    {SYS_renameat, {Text(1), Text(3)}},
    {SYS_renameat2, {Text(1), Text(3)}},
    {SYS_chmod, {Text(0)}},
    {SYS_fchmod, {}},
    {SYS_fchmodat, {Text(1)}},
    {SYS_utimensat, {Text(1), Sized(2, 2 * kTime)}},
    {SYS_memfd_create, {Text(0)}},
    {SYS_umask, {}},

    {SYS_poll, {Items(0, 1, 8)}},
    {SYS_ppoll, {Items(0, 1, 8), Sized(2, kTime), Sized(3, 8)}},
    {SYS_select, {Sized(1, kSet), Sized(2, kSet), Sized(3, kSet), Sized(4, kTime)}},
    {SYS_pselect6, {Sized(1, kSet), Sized(2, kSet), Sized(3, kSet), Sized(4, kTime), Sized(5, 16)}},
    {SYS_epoll_create1, {}},
    {SYS_epoll_ctl, {Sized(3, kEvent)}},
    {SYS_epoll_wait, {Items(1, 2, kEvent)}},
    {SYS_epoll_pwait, {Items(1, 2, kEvent), Sized(4, 8)}},
    {SYS_epoll_pwait2, {Items(1, 2, kEvent), Sized(3, kTime), Sized(4, 8)}},
    {SYS_eventfd2, {}},
    {SYS_timerfd_create, {}},
    {SYS_timerfd_settime, {Sized(2, kTimer), Sized(3, kTimer)}},
    {SYS_timerfd_gettime, {Sized(1, kTimer)}},

    {SYS_munmap, {Bytes(0, 1)}},
    {SYS_mprotect, {Bytes(0, 1)}},
    {SYS_pkey_mprotect, {Bytes(0, 1)}},
    {SYS_madvise, {Bytes(0, 1)}},
    {SYS_mlock, {Bytes(0, 1)}},
    {SYS_mlock2, {Bytes(0, 1)}},
    {SYS_munlock, {Bytes(0, 1)}},
    {SYS_msync, {Bytes(0, 1)}},
    {SYS_mincore, {Bytes(0, 1), Bytes(2, 1)}},
    {SYS_brk, {}},
    {SYS_membarrier, {}},

    {SYS_set_robust_list, {}},
    {SYS_set_tid_address, {}},
    {SYS_rseq, {}},
    {SYS_arch_prctl, {Sized(1, 8)}},
    {SYS_sched_yield, {}},
    {SYS_sched_getaffinity, {Bytes(2, 1)}},
    {SYS_sched_setaffinity, {Bytes(2, 1)}},
    {SYS_sched_getparam, {Sized(1, 4)}},
    {SYS_sched_getscheduler, {}},
    {SYS_getcpu, {Sized(0, 4), Sized(1, 4)}},
    {SYS_nanosleep, {Sized(0, kTime), Sized(1, kTime)}},
    {SYS_clock_nanosleep, {Sized(2, kTime), Sized(3, kTime)}},
    {SYS_clock_gettime, {Sized(1, kTime)}},
    {SYS_clock_getres, {Sized(1, kTime)}},
    {SYS_gettimeofday, {Sized(0, kTime), Sized(1, 8)}},
    {SYS_time, {Sized(0, 8)}},
    {SYS_times, {Sized(0, 32)}},
    {SYS_alarm, {}},
    {SYS_pause, {}},
    {SYS_getitimer, {Sized(1, kTimer)}},
    {SYS_setitimer, {Sized(1, kTimer), Sized(2, kTimer)}},
    {SYS_timer_create, {Sized(1, 64), Sized(2, 4)}},
    {SYS_timer_settime, {Sized(2, kTimer), Sized(3, kTimer)}},
    {SYS_timer_gettime, {Sized(1, kTimer)}},
    {SYS_timer_delete, {}},
    {SYS_getrusage, {Sized(1, kUsage)}},
    {SYS_getrlimit, {Sized(1, 16)}},
    {SYS_setrlimit, {Sized(1, 16)}},
    {SYS_prlimit64, {Sized(2, 16), Sized(3, 16)}},
    {SYS_uname, {Sized(0, 390)}},
    {SYS_sysinfo, {Sized(0, 112)}},
    {SYS_getrandom, {Bytes(0, 1)}},

    {SYS_getpid, {}},
    {SYS_gettid, {}},
    {SYS_getppid, {}},
    {SYS_getpgrp, {}},
    {SYS_getuid, {}},
    {SYS_geteuid, {}},
    {SYS_getgid, {}},
    {SYS_getegid, {}},
    {SYS_exit, {}},
    {SYS_exit_group, {}},
    {SYS_kill, {}},
    {SYS_tkill, {}},
    {SYS_tgkill, {}},
    {SYS_wait4, {Sized(1, 4), Sized(3, kUsage)}},
    {SYS_waitid, {Sized(2, 128), Sized(4, kUsage)}},
    {SYS_rt_sigaction, {Sized(1, 32), Sized(2, 32)}},
    {SYS_rt_sigpending, {Sized(0, 8)}},
    {SYS_rt_sigsuspend, {Sized(0, 8)}},
    {SYS_rt_sigtimedwait, {Sized(0, 8), Sized(1, 128), Sized(2, kTime)}},
    {SYS_sigaltstack, {Sized(0, 24), Sized(1, 24)}},
};

// A CallIndex finds a call in kCalls by its number.
constexpr int kNumbers = 512;
struct CallIndex {
  uint8_t index[kNumbers] = {};  // 1 + index in kCalls; 0: not known
};
constexpr CallIndex MakeCallIndex() {
  CallIndex table;
  static_assert(sizeof(kCalls) / sizeof(kCalls[0]) < 255);
  uint8_t next = 1;
  for (const KnownCall& call : kCalls) table.index[call.number] = next++;
  return table;
}
constexpr CallIndex kCallIndex = MakeCallIndex();

const void* Address(long argument) { return reinterpret_cast<const void*>(argument); }  // NOLINT: of the program

// Each of these functions waits for the memory that an argument refers to. It returns false if that memory cannot be
// determined.

bool AwaitVectors(const void* vectors, size_t count, FreeSyscall call) {
  if (count > IOV_MAX) return true;  // the kernel refuses the call
  Await(vectors, count * sizeof(iovec));
  for (size_t i = 0; i < count; ++i) {
    iovec one;
    if (!CopyIn(static_cast<const iovec*>(vectors) + i, &one, sizeof(one), call)) return false;
    Await(one.iov_base, one.iov_len);
  }
  return true;
}

bool AwaitMessage(const void* at, FreeSyscall call) {
  msghdr message;
  Await(at, sizeof(message));
  if (!CopyIn(at, &message, sizeof(message), call)) return false;
  Await(message.msg_name, message.msg_namelen);
  Await(message.msg_control, message.msg_controllen);
  return AwaitVectors(message.msg_iov, message.msg_iovlen, call);
}

bool AwaitMessages(const void* at, size_t count, FreeSyscall call) {
  if (count > IOV_MAX) count = IOV_MAX;  // the kernel reads no more
  Await(at, count * sizeof(mmsghdr));
  for (size_t i = 0; i < count; ++i) {
    if (!AwaitMessage(&static_cast<const mmsghdr*>(at)[i].msg_hdr, call)) return false;
  }
  return true;
}

bool AwaitPart(const Part& part, const long arguments[6], FreeSyscall call) {
  const void* at = Address(arguments[part.at]);
  const auto count = static_cast<size_t>(arguments[part.count]);
  switch (part.kind) {
    case Kind::kNot:
      return true;
    case Kind::kSized:
      Await(at, part.bytes);
      return true;
    case Kind::kItems:
      Await(at, count < SIZE_MAX / part.bytes ? count * part.bytes : SIZE_MAX);
      return true;
    case Kind::kText:  // paths are not longer, so the string's length is not needed
      Await(at, PATH_MAX);
      return true;
    case Kind::kVectors:
      return AwaitVectors(at, count, call);
    case Kind::kMessage:
      return AwaitMessage(at, call);
    case Kind::kMessages:
      return AwaitMessages(at, static_cast<unsigned>(count), call);
  }
  return false;
}

void AwaitFutex(const long arguments[6]) {
  Await(Address(arguments[0]), sizeof(uint32_t));
  switch (static_cast<int>(arguments[1]) & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case kLockPi2:
      return Await(Address(arguments[3]), kTime);
    case FUTEX_WAIT_REQUEUE_PI:
      Await(Address(arguments[3]), kTime);
      return Await(Address(arguments[4]), sizeof(uint32_t));
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_WAKE_OP:
      return Await(Address(arguments[4]), sizeof(uint32_t));
    default:
      return;
  }
}

void AwaitFileControl(const long arguments[6]) {
  switch (arguments[1]) {
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
    case F_GETOWN_EX:
    case F_SETOWN_EX:
    case F_GET_RW_HINT:
    case F_SET_RW_HINT:
      return Await(Address(arguments[2]), sizeof(struct flock));
    default:
      return;
  }
}

bool AwaitProcessControl(const long arguments[6]) {
  constexpr size_t kNameBytes = 16;
  switch (arguments[0]) {
    case PR_SET_NAME:
    case PR_GET_NAME:
    case PR_GET_PDEATHSIG:
      Await(Address(arguments[1]), kNameBytes);
      return true;
    case PR_SET_PDEATHSIG:
    case PR_SET_DUMPABLE:
    case PR_GET_DUMPABLE:
    case PR_SET_NO_NEW_PRIVS:
    case PR_SET_TIMERSLACK:
      return true;
    default:
      return false;
  }
}

// Waits for the memory of calls of which an argument determines what the others are. Returns false if the call is not
// known.
bool AwaitVariant(long number, const long arguments[6]) {
  const auto length = [arguments](int i) { return static_cast<size_t>(arguments[i]); };
  // These are the ioctls of terminals and open files, whose structures contain no addresses.
  constexpr unsigned long kTerminal = 0x54;
  constexpr size_t kTerminalBytes = 256;
  switch (number) {
    case SYS_mmap:
      if ((arguments[3] & MAP_FIXED) != 0) Await(Address(arguments[0]), length(1));
      return true;
    case SYS_mremap:
      Await(Address(arguments[0]), length(1));
      if ((arguments[3] & MREMAP_FIXED) != 0) Await(Address(arguments[4]), length(2));
      return true;
    case SYS_futex:
      AwaitFutex(arguments);
      return true;
    case SYS_fcntl:
      AwaitFileControl(arguments);
      return true;
    case SYS_prctl:
      return AwaitProcessControl(arguments);
    case SYS_ioctl:
      // These have no argument.
      if (arguments[1] == FIOCLEX || arguments[1] == FIONCLEX) return true;
      if (static_cast<unsigned long>(arguments[1]) >> 8 != kTerminal) return false;
      Await(Address(arguments[2]), kTerminalBytes);
      return true;
    default:
      return false;
  }
}

bool AwaitKnown(long number, const long arguments[6], FreeSyscall call) {
  if (number < 0 || number >= kNumbers || kCallIndex.index[number] == 0) return AwaitVariant(number, arguments);
  for (const Part& part : kCalls[kCallIndex.index[number] - 1].parts) {
    if (!AwaitPart(part, arguments, call)) return false;
  }
  return true;
}

bool Copy(long number, const void* ours, const void* theirs, size_t bytes, FreeSyscall call) {
  const iovec here = {const_cast<void*>(ours), bytes}, there = {const_cast<void*>(theirs), bytes};
  const long self = call(SYS_getpid, 0, 0, 0, 0, 0, 0);
  return call(number, self, reinterpret_cast<long>(&here), 1, reinterpret_cast<long>(&there), 1, 0) ==
         static_cast<long>(bytes);
}

}  // namespace

bool CopyIn(const void* from, void* to, unsigned long bytes, FreeSyscall call) {
  return Copy(SYS_process_vm_readv, to, from, bytes, call);
}

bool CopyOut(void* to, const void* from, unsigned long bytes, FreeSyscall call) {
  return Copy(SYS_process_vm_writev, from, to, bytes, call);
}

void AwaitSyscallMemory(long number, const long arguments[6], FreeSyscall call) {
  if (IsAnythingPending() && !AwaitKnown(number, arguments, call)) AwaitAll();
}

}  // namespace copse::preload

#endif
