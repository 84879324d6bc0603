// SPDX-License-Identifier: Apache-2.0
//
// Declares the wrappers that need more than a line of the list (COPSE_LIBC_WRAPPED_CALLS), under libc's names.
#ifndef COPSE_CLIENT_PRELOAD_LIBC_WRAPPED_H_
#define COPSE_CLIENT_PRELOAD_LIBC_WRAPPED_H_

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>

namespace copse::preload {

using SignalHandler = void (*)(int);

namespace wrapped {

// libc_heap.cc defines these.
void free(void* chunk);
void* realloc(void* chunk, size_t bytes);
void* reallocarray(void* chunk, size_t count, size_t item_bytes);
// `to` is valid with MREMAP_FIXED only.
void* mremap(void* from, size_t from_bytes, size_t bytes, int flags, void* to);

// libc_signals.cc defines these.
int sigaction(int signal, const struct sigaction* action, struct sigaction* previous);
SignalHandler signal(int signal, SignalHandler handler);
SignalHandler ssignal(int signal, SignalHandler handler);
SignalHandler bsd_signal(int signal, SignalHandler handler);
SignalHandler sysv_signal(int signal, SignalHandler handler);
SignalHandler __sysv_signal(int signal, SignalHandler handler);
SignalHandler sigset(int signal, SignalHandler handler);
int sigignore(int signal);
int siginterrupt(int signal, int interrupts);
int sigprocmask(int how, const sigset_t* set, sigset_t* previous);
int pthread_sigmask(int how, const sigset_t* set, sigset_t* previous);
int sigblock(int mask);
int sigsetmask(int mask);
int siggetmask();
int sighold(int signal);
int sigrelse(int signal);
int sigpause(int mask);

// libc_threads.cc defines this.
int thrd_create(thrd_t* thread, thrd_start_t run, void* argument);

// syscall_guard.cc defines this.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument);

}  // namespace wrapped

// Returns the signals, by bit, that are never blocked: SIGSEGV, and SIGSYS if system calls are stopped.
uint64_t GuardedSignals();
// Unblocks these signals in the calling thread and in present handlers, as the wrappers do from then on.
void FreeGuardedSignals();
// Returns `set`; if it has guarded signals, a copy in `*room` without them. Accepts null.
const sigset_t* WithoutGuarded(const sigset_t* set, sigset_t* room);

// Finds the function that returns the length of a chunk of the heap, for KnownHeap.
void FindHeap();
// Returns that function; null if there is none.
void* KnownHeap();

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_LIBC_WRAPPED_H_
