// SPDX-License-Identifier: Apache-2.0
//
// Provides a back end for tests that are linked with the preload before libc: memory that is awaited becomes accessible
// at once. Hooks cannot be removed, so tests that need them run in children.
#ifndef COPSE_CLIENT_PRELOAD_LIBC_TEST_ENGINE_H_
#define COPSE_CLIENT_PRELOAD_LIBC_TEST_ENGINE_H_

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "client/preload/memory_hooks.h"
#include "client/tnbc/pages/memory_end.h"
#include "gtest/gtest.h"

extern "C" copse::preload::FindLibcCall copse_preload_set_memory_hooks(const copse::preload::MemoryHooks* hooks);

namespace copse::preload {

constexpr size_t kPageBytes = 4096;
constexpr size_t kBytes = 2 * kPageBytes;

// An Engine records what the hooks were called for. It lies in memory that children share, so the parent sees what they
// did, also if they have executed another program.
struct Engine {
  std::atomic<uint32_t> pending;
  char* begin;
  size_t bytes;
  int (*protect)(void*, size_t, int);
  void* next_sigaction;
  int awaited;
  int acted;
  struct sigaction action;
  std::atomic<uint32_t> adopted;
  tnbc::MemoryEnd end;  // of the latest release
};

inline Engine* TheEngine() {
  static auto* const engine =
      static_cast<Engine*>(mmap(nullptr, sizeof(Engine), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return engine;
}

inline void Arrive() {
  Engine* engine = TheEngine();
  if (engine->pending == 0) return;
  engine->protect(engine->begin, engine->bytes, PROT_READ | PROT_WRITE);
  engine->pending = 0;
  ++engine->awaited;
  errno = ENOTRECOVERABLE;  // the program must not see it
}

inline void AwaitHook(const void* address, size_t bytes) {
  const auto* begin = static_cast<const char*>(address);
  if (begin < TheEngine()->begin + TheEngine()->bytes && TheEngine()->begin < begin + bytes) Arrive();
}

inline int ActHook(int signal, const struct sigaction* next, struct sigaction* previous) {
  TheEngine()->acted = signal;
  if (previous != nullptr) *previous = TheEngine()->action;
  if (next != nullptr) TheEngine()->action = *next;
  return 0;
}

inline void ReleaseHook(const void* /*address*/, size_t /*bytes*/, tnbc::MemoryEnd end) {
  TheEngine()->adopted = 0;
  TheEngine()->end = end;
  errno = ENOTRECOVERABLE;
}

inline void SetHooks() {
  static const MemoryHooks hooks = {&TheEngine()->pending, AwaitHook, Arrive,     ActHook,
                                    &TheEngine()->adopted, kBytes,    ReleaseHook};
  const FindLibcCall next = copse_preload_set_memory_hooks(&hooks);
  TheEngine()->protect = reinterpret_cast<int (*)(void*, size_t, int)>(next("mprotect"));
  TheEngine()->next_sigaction = next("sigaction");
  TheEngine()->awaited = TheEngine()->acted = 0;
}

inline void Hide(char* begin, size_t bytes) {
  ASSERT_EQ(syscall(SYS_mprotect, begin, bytes, PROT_NONE), 0);
  TheEngine()->begin = begin;
  TheEngine()->bytes = bytes;
  TheEngine()->pending = 1;
}

inline char* NewPages(size_t bytes = kBytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(pages, MAP_FAILED);
  return static_cast<char*>(pages);
}

// Runs `body` in a child, where its expectations count as here.
inline void InChild(const std::function<void()>& body) {
  EXPECT_EXIT(
      {
        body();
        fflush(stdout);
        _exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_LIBC_TEST_ENGINE_H_
