/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the functions of libc that the preload wraps, so that they do not access pending memory (memory_hooks.h). The
 * assembler (libc_trampolines.S), the preload and exports_test use this one list.
 *
 * Some calls are not in the list; with COPSE_TNBC_SYSCALLS=strict the first three kinds are waited for, too
 * (syscall_guard.h):
 * - Calls that fail with EFAULT on pending memory. Most transfer little: stat, poll, select, ioctl, getsockopt, names
 *   of files and hosts, times. Others are readlink, getcwd, getdents, getrandom, messages of System V and POSIX
 *   (msgrcv, mq_receive) and io_uring.
 * - System calls that libc makes within other functions. Functions of stdio that access the program's memory before the
 *   kernel does (puts, printf, fgets, getline) need no wrapper.
 * - syscall() and other ways around libc, clone(), brk(), sbrk().
 * - signalfd() and sigwait() of SIGSEGV, and masks that are set by setcontext() or in a ucontext_t. The record that the
 *   program blocks SIGSEGV is lost after siglongjmp(), in a new thread, and in a program that is executed. */
#ifndef COPSE_CLIENT_PRELOAD_LIBC_CALLS_H_
#define COPSE_CLIENT_PRELOAD_LIBC_CALLS_H_

/* In these calls the kernel reads or writes memory of the program; a type of touched_memory.h says which memory. */
#define COPSE_LIBC_TRANSFER_CALLS(CALL)      \
  CALL(read, Bytes<1, 2>)                    \
  CALL(pread, Bytes<1, 2>)                   \
  CALL(pread64, Bytes<1, 2>)                 \
  CALL(__read_chk, Bytes<1, 2>)              \
  CALL(__pread_chk, Bytes<1, 2>)             \
  CALL(__pread64_chk, Bytes<1, 2>)           \
  CALL(write, Bytes<1, 2>)                   \
  CALL(pwrite, Bytes<1, 2>)                  \
  CALL(pwrite64, Bytes<1, 2>)                \
  CALL(readv, Vectors<1, 2>)                 \
  CALL(preadv, Vectors<1, 2>)                \
  CALL(preadv64, Vectors<1, 2>)              \
  CALL(preadv2, Vectors<1, 2>)               \
  CALL(preadv64v2, Vectors<1, 2>)            \
  CALL(writev, Vectors<1, 2>)                \
  CALL(pwritev, Vectors<1, 2>)               \
  CALL(pwritev64, Vectors<1, 2>)             \
  CALL(pwritev2, Vectors<1, 2>)              \
  CALL(pwritev64v2, Vectors<1, 2>)           \
  CALL(vmsplice, Vectors<1, 2>)              \
  CALL(process_vm_readv, Vectors<1, 2>)      \
  CALL(process_vm_writev, Vectors<1, 2>)     \
  CALL(send, Bytes<1, 2>)                    \
  CALL(sendto, Bytes<1, 2>)                  \
  CALL(sendmsg, Message<1>)                  \
  CALL(sendmmsg, Messages<1, 2>)             \
  CALL(recv, Bytes<1, 2>)                    \
  CALL(__recv_chk, Bytes<1, 2>)              \
  CALL(recvfrom, Bytes<1, 2>)                \
  CALL(__recvfrom_chk, Bytes<1, 2>)          \
  CALL(recvmsg, Message<1>)                  \
  CALL(recvmmsg, Messages<1, 2>)             \
  CALL(aio_read, ControlBlock<0>)            \
  CALL(aio_read64, ControlBlock<0>)          \
  CALL(aio_write, ControlBlock<0>)           \
  CALL(aio_write64, ControlBlock<0>)         \
  CALL(lio_listio, ControlBlocks<1, 2>)      \
  CALL(lio_listio64, ControlBlocks<1, 2>)    \
  CALL(io_submit, KernelControlBlocks<2, 1>) \
  CALL(fread, Items<0, 1, 2>)                \
  CALL(fread_unlocked, Items<0, 1, 2>)       \
  CALL(__fread_chk, Items<0, 2, 3>)          \
  CALL(__fread_unlocked_chk, Items<0, 2, 3>) \
  CALL(fwrite, Items<0, 1, 2>)               \
  CALL(fwrite_unlocked, Items<0, 1, 2>)

/* These calls change mappings, or give memory to libc or the kernel. A stream's buffer is awaited only when the stream
 * gets it. */
#define COPSE_LIBC_CHANGE_CALLS(CALL) \
  CALL(setbuf, StreamBuffer<1>)       \
  CALL(setbuffer, Bytes<1, 2>)        \
  CALL(setvbuf, Bytes<1, 3>)          \
  CALL(munmap, Unmapped)              \
  CALL(mmap, FixedMapping)            \
  CALL(mmap64, FixedMapping)          \
  CALL(mprotect, Bytes<0, 1>)         \
  CALL(pkey_mprotect, Bytes<0, 1>)    \
  CALL(madvise, ChangedBytes<0, 1>)   \
  CALL(mlock, Bytes<0, 1>)            \
  CALL(mlock2, Bytes<0, 1>)           \
  CALL(msync, Bytes<0, 1>)            \
  CALL(shmdt, Anything)

#define COPSE_LIBC_MEMORY_CALLS(CALL) COPSE_LIBC_TRANSFER_CALLS(CALL) COPSE_LIBC_CHANGE_CALLS(CALL)

/* These calls take a signal mask, at the given position, that is not the calling thread's mask after them. */
#define COPSE_LIBC_MASKED_CALLS(CALL) \
  CALL(sigsuspend, 0)                 \
  CALL(ppoll, 3)                      \
  CALL(__ppoll_chk, 3)                \
  CALL(pselect, 5)                    \
  CALL(epoll_pwait, 4)                \
  CALL(epoll_pwait2, 4)               \
  CALL(pthread_attr_setsigmask_np, 1)

/* libc_wrapped.h declares the wrappers of these calls. */
#define COPSE_LIBC_WRAPPED_CALLS(CALL) \
  CALL(free)                           \
  CALL(realloc)                        \
  CALL(reallocarray)                   \
  CALL(mremap)                         \
  CALL(sigaction)                      \
  CALL(signal)                         \
  CALL(ssignal)                        \
  CALL(bsd_signal)                     \
  CALL(sysv_signal)                    \
  CALL(__sysv_signal)                  \
  CALL(sigset)                         \
  CALL(sigignore)                      \
  CALL(siginterrupt)                   \
  CALL(sigprocmask)                    \
  CALL(pthread_sigmask)                \
  CALL(sigblock)                       \
  CALL(sigsetmask)                     \
  CALL(siggetmask)                     \
  CALL(sighold)                        \
  CALL(sigrelse)                       \
  CALL(sigpause)                       \
  CALL(pthread_create)                 \
  CALL(thrd_create)

/* In these calls libc blocks all signals, so that no system call may be stopped meanwhile (OffGuard in
 * syscall_guard.h); a type of touched_memory.h says which memory is awaited before them. */
#define COPSE_LIBC_BLOCKING_CALLS(CALL) \
  CALL(pthread_kill, Nothing)           \
  CALL(pthread_cancel, Nothing)         \
  CALL(fork, Forked)                    \
  CALL(_Fork, Forked)                   \
  CALL(forkpty, Forked)                 \
  CALL(daemon, Forked)                  \
  CALL(posix_spawn, Anything)           \
  CALL(posix_spawnp, Anything)          \
  CALL(system, Anything)                \
  CALL(popen, Anything)

/* All pending memory is awaited before these calls. They return twice or never, or have a variable number of arguments,
 * so the trampoline jumps to them directly: no C++ function calls them. */
#define COPSE_LIBC_PROCESS_CALLS(CALL) \
  CALL(vfork)                          \
  CALL(execve)                         \
  CALL(execveat)                       \
  CALL(fexecve)                        \
  CALL(execv)                          \
  CALL(execvp)                         \
  CALL(execvpe)                        \
  CALL(execl)                          \
  CALL(execle)                         \
  CALL(execlp)

#define COPSE_LIBC_CALLS(CALL)    \
  COPSE_LIBC_WRAPPED_CALLS(CALL)  \
  COPSE_LIBC_MEMORY_CALLS(CALL)   \
  COPSE_LIBC_MASKED_CALLS(CALL)   \
  COPSE_LIBC_BLOCKING_CALLS(CALL) \
  COPSE_LIBC_PROCESS_CALLS(CALL)

#endif /* COPSE_CLIENT_PRELOAD_LIBC_CALLS_H_ */
