// SPDX-License-Identifier: Apache-2.0
//
// Calls of libc that change what memory there is, or start processes, while memory is pending.
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "client/preload/libc_calls.h"
#include "client/preload/libc_test_engine.h"
#include "client/tnbc/pages/memory_end.h"
#include "gtest/gtest.h"

namespace copse::preload {
namespace {

// --- Memory what memory there is ---

// Returns whether the call did what it should; `memory` is kBytes, hidden.
struct Change {
  const char* name;
  bool (*run)(char* memory);
};

template <typename Call>
bool BufferOfStream(char* memory, Call call) {
  FILE* stream = fdopen(memfd_create("stream", 0), "r+");
  call(stream, memory);
  const bool is_right = fputs("text", stream) >= 0 && fflush(stream) == 0;
  fclose(stream);
  return is_right;
}

bool IsFresh(void* mapped, const char* memory) { return mapped == memory && memory[0] == 0; }

const Change kChanges[] = {
    {"setbuf", [](char* p) { return BufferOfStream(p, [](FILE* f, char* b) { setbuf(f, b); }); }},
    {"setbuffer", [](char* p) { return BufferOfStream(p, [](FILE* f, char* b) { setbuffer(f, b, kBytes); }); }},
    {"setvbuf", [](char* p) { return BufferOfStream(p, [](FILE* f, char* b) { setvbuf(f, b, _IOFBF, kBytes); }); }},
    {"munmap", [](char* p) { return munmap(p, kBytes) == 0; }},
    {"mmap",
     [](char* p) { return IsFresh(mmap(p, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), p); }},
    {"mmap64",
     [](char* p) { return IsFresh(mmap64(p, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), p); }},
    {"mremap",
     [](char* p) {
       const auto* moved = static_cast<const char*>(mremap(p, kBytes, 64 * kBytes, MREMAP_MAYMOVE));
       return moved != MAP_FAILED && moved[0] == 'm';
     }},
    {"mremap",
     [](char* p) {
       char* from = NewPages(kPageBytes);
       from[0] = 'n';
       return mremap(from, kPageBytes, kPageBytes, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p && p[0] == 'n';
     }},
    {"mprotect", [](char* p) { return mprotect(p, kBytes, PROT_READ) == 0 && p[0] == 'm'; }},
    {"pkey_mprotect", [](char* p) { return pkey_mprotect(p, kBytes, PROT_READ, -1) == 0 && p[0] == 'm'; }},
    {"madvise", [](char* p) { return madvise(p, kBytes, MADV_DONTNEED) == 0 && p[0] == 0; }},
    {"mlock", [](char* p) { return mlock(p, kBytes) == 0; }},
    {"mlock2", [](char* p) { return mlock2(p, kBytes, 0) == 0; }},
    {"msync", [](char* p) { return msync(p, kBytes, MS_SYNC) == 0; }},
};

TEST(LibcCallsTest, ChangesOfMemoryComeAfterItsData) {
  for (const Change& change : kChanges) {
    SCOPED_TRACE(change.name);
    InChild([&] {
      SetHooks();
      char* memory = NewPages();
      memory[0] = 'm';
      Hide(memory, kBytes);
      EXPECT_TRUE(change.run(memory)) << strerror(errno);
      EXPECT_EQ(TheEngine()->awaited, 1);
    });
  }
}

TEST(LibcCallsTest, MappingsElsewhereAwaitNothing) {
  InChild([] {
    SetHooks();
    char* memory = NewPages();
    Hide(memory, kBytes);
    EXPECT_NE(mmap(memory, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), memory);
    EXPECT_EQ(TheEngine()->awaited, 0);
  });
}

TEST(LibcCallsTest, ASegmentIsDetachedAfterItsData) {
  InChild([] {
    SetHooks();
    const int segment = shmget(IPC_PRIVATE, kBytes, 0600);
    auto* memory = static_cast<char*>(shmat(segment, nullptr, 0));
    shmctl(segment, IPC_RMID, nullptr);
    Hide(memory, kBytes);
    EXPECT_EQ(shmdt(memory), 0);
    EXPECT_EQ(TheEngine()->awaited, 1);
  });
}

// --- The heap ---

// A chunk that is a mapping of its own, and one that is not.
constexpr size_t kChunks[] = {1 << 20, 5 * kPageBytes};

char* HideChunk(size_t bytes) {
  auto* chunk = static_cast<char*>(malloc(bytes));
  memset(chunk, 'c', bytes);
  const auto first = (reinterpret_cast<uintptr_t>(chunk) + kPageBytes - 1) / kPageBytes * kPageBytes;
  Hide(reinterpret_cast<char*>(first), (bytes - kPageBytes) / kPageBytes * kPageBytes);
  return chunk;
}

TEST(LibcCallsTest, AChunkIsFreedAfterItsData) {
  for (const size_t bytes : kChunks) {
    InChild([=] {
      SetHooks();
      void* other = malloc(bytes);
      char* chunk = HideChunk(bytes);
      free(other);
      free(nullptr);
      EXPECT_EQ(TheEngine()->awaited, 0);
      errno = 0;
      free(chunk);
      EXPECT_EQ(TheEngine()->awaited, 1);
      EXPECT_EQ(errno, 0);
      memset(malloc(bytes), 'd', bytes);
    });
  }
}

TEST(LibcCallsTest, AChunkGrowsAfterItsData) {
  for (const size_t bytes : kChunks) {
    InChild([=] {
      SetHooks();
      char* chunk = static_cast<char*>(realloc(HideChunk(bytes), 4 * bytes));
      EXPECT_EQ(std::string(chunk, bytes), std::string(bytes, 'c'));
      chunk = static_cast<char*>(reallocarray(HideChunk(bytes), 4, bytes));
      EXPECT_EQ(std::string(chunk, bytes), std::string(bytes, 'c'));
      EXPECT_EQ(TheEngine()->awaited, 2);
    });
  }
}

// --- Processes ---

// What is run lies in pending memory.
struct Command {
  explicit Command(char* memory)
      : words{Put(memory, "/bin/sh"), Put(memory + 16, "-c"), Put(memory + 32, "exit 7"), nullptr} {}
  char* shell() const { return words[0]; }
  char* option() const { return words[1]; }
  char* script() const { return words[2]; }
  char* words[4];

 private:
  static char* Put(char* at, const char* text) {
    memcpy(at, text, strlen(text) + 1);
    return at;
  }
};

int ExitCodeOf(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Returns the exit code of the command or, of functions that make a process only, of one that reads `command` as the
// parent had it.
struct Start {
  const char* name;
  int (*run)(const Command& command);
};

int EndOfChild(pid_t pid, const Command& command) {
  if (pid == 0) _exit(memcmp(command.script(), "exit 7", 7) == 0 ? 7 : 1);
  return ExitCodeOf(pid);
}

template <typename Call>
int ByExec(Call call) {
  const pid_t pid = static_cast<pid_t>(syscall(SYS_fork));
  if (pid != 0) return ExitCodeOf(pid);
  call();
  _exit(1);
}

template <typename Call>
int BySpawn(Call call, const Command& command) {
  pid_t pid;
  return call(&pid, command.shell(), nullptr, nullptr, command.words, environ) == 0 ? ExitCodeOf(pid) : -1;
}

int ByDaemon(const Command& command) {
  int pipes[2];
  if (pipe(pipes) != 0) return -1;
  const pid_t pid = static_cast<pid_t>(syscall(SYS_fork));
  if (pid == 0) {
    if (daemon(1, 1) != 0) _exit(1);
    if (write(pipes[1], command.script() + 5, 1) != 1) _exit(1);
    _exit(0);
  }
  close(pipes[1]);
  char said = '0';
  return ExitCodeOf(pid) == 0 && read(pipes[0], &said, 1) == 1 ? said - '0' : -1;
}

const Start kStarts[] = {
    {"fork", [](const Command& c) { return EndOfChild(fork(), c); }},
    {"_Fork", [](const Command& c) { return EndOfChild(_Fork(), c); }},
    {"vfork",
     [](const Command& c) {
       const pid_t pid = vfork();
       if (pid == 0) {
         execve(c.shell(), c.words, environ);
         _exit(1);
       }
       return ExitCodeOf(pid);
     }},
    {"forkpty",
     [](const Command& c) {
       int terminal;
       return EndOfChild(forkpty(&terminal, nullptr, nullptr, nullptr), c);
     }},
    {"daemon", ByDaemon},
    {"posix_spawn", [](const Command& c) { return BySpawn(posix_spawn, c); }},
    {"posix_spawnp", [](const Command& c) { return BySpawn(posix_spawnp, c); }},
    {"execve", [](const Command& c) { return ByExec([&] { execve(c.shell(), c.words, environ); }); }},
    {"execveat", [](const Command& c) { return ByExec([&] { execveat(-1, c.shell(), c.words, environ, 0); }); }},
    {"fexecve", [](const Command& c) { return ByExec([&] { fexecve(open("/bin/sh", O_RDONLY), c.words, environ); }); }},
    {"execv", [](const Command& c) { return ByExec([&] { execv(c.shell(), c.words); }); }},
    {"execvp", [](const Command& c) { return ByExec([&] { execvp(c.shell(), c.words); }); }},
    {"execvpe", [](const Command& c) { return ByExec([&] { execvpe(c.shell(), c.words, environ); }); }},
    {"execl",
     [](const Command& c) {
       return ByExec([&] { execl(c.shell(), c.shell(), c.option(), c.script(), "1", "2", "3", "4", nullptr); });
     }},
    {"execle",
     [](const Command& c) {
       return ByExec([&] { execle(c.shell(), c.shell(), c.option(), c.script(), "1", "2", "3", nullptr, environ); });
     }},
    {"execlp",
     [](const Command& c) { return ByExec([&] { execlp(c.shell(), c.shell(), c.option(), c.script(), nullptr); }); }},
    {"system",
     [](const Command& c) {
       return WEXITSTATUS(system(c.script()));  // tidy: allow(unsafe) because it is what is tested
     }},
    {"popen", [](const Command& c) { return WEXITSTATUS(pclose(popen(c.script(), "r"))); }},
};

TEST(LibcCallsTest, ProcessesStartWhenEverythingIsThere) {
  for (const Start& start : kStarts) {
    SCOPED_TRACE(start.name);
    InChild([&] {
      SetHooks();
      char* memory = NewPages();
      const Command command(memory);
      Hide(memory, kBytes);
      EXPECT_EQ(start.run(command), 7);
      EXPECT_EQ(TheEngine()->awaited, 1);
    });
  }
}

// --- Memory that is adopted ---

// What becomes of it; none: the call does not mind.
using End = std::optional<tnbc::MemoryEnd>;

// Does so while some is.
End EndBy(const std::function<void()>& call) {
  TheEngine()->adopted = 1;
  call();
  if (TheEngine()->adopted.exchange(0) == 0) return TheEngine()->end;
  return std::nullopt;
}

TEST(LibcCallsTest, WhatIsAdoptedIsReleasedBeforeItIsChanged) {
  const std::map<std::string, tnbc::MemoryEnd> ends = {{"munmap", tnbc::MemoryEnd::kGoes},
                                                       {"mmap", tnbc::MemoryEnd::kStays},
                                                       {"mmap64", tnbc::MemoryEnd::kStays},
                                                       {"madvise", tnbc::MemoryEnd::kStays}};
  for (const Change& change : kChanges) {
    SCOPED_TRACE(change.name);
    if (change.name == std::string("mremap")) continue;
    InChild([&] {
      SetHooks();
      char* memory = NewPages();
      memory[0] = 'm';
      const auto wanted = ends.find(change.name);
      const End end = EndBy([&] { EXPECT_TRUE(change.run(memory)) << strerror(errno); });
      EXPECT_EQ(end, wanted == ends.end() ? End() : End(wanted->second));
    });
  }
  InChild([] {
    SetHooks();
    void* memory = NewPages();
    EXPECT_EQ(EndBy([&] { memory = mremap(memory, kBytes, 4 * kBytes, MREMAP_MAYMOVE); }), tnbc::MemoryEnd::kMoves);
    EXPECT_EQ(EndBy([&] { EXPECT_EQ(munmap(static_cast<char*>(memory) + 1, kBytes), -1); }), tnbc::MemoryEnd::kStays);
  });
}

TEST(LibcCallsTest, ChunksThatMayBeAdoptedAreReleased) {
  InChild([] {
    SetHooks();
    void* small = malloc(kBytes / 2);
    void* large = malloc(4 * kBytes);
    EXPECT_EQ(EndBy([&] { large = realloc(large, 8 * kBytes); }), tnbc::MemoryEnd::kMoves);
    EXPECT_EQ(EndBy([&] { large = reallocarray(large, 16, kBytes); }), tnbc::MemoryEnd::kMoves);
    errno = 0;
    EXPECT_EQ(EndBy([&] { free(large); }), tnbc::MemoryEnd::kGoes);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(EndBy([&] { free(small); }), std::nullopt);
    EXPECT_EQ(EndBy([&] { free(nullptr); }), std::nullopt);
  });
}

TEST(LibcCallsTest, AChildThatHasMemoryOfItsOwnSharesNothing) {
  const std::set<std::string> forks = {"fork", "_Fork", "forkpty", "daemon"};
  for (const Start& start : kStarts) {
    SCOPED_TRACE(start.name);
    InChild([&] {
      SetHooks();
      const Command command(NewPages());
      const End end = EndBy([&] { EXPECT_EQ(start.run(command), 7); });
      EXPECT_EQ(end, forks.count(start.name) != 0 ? End(tnbc::MemoryEnd::kStays) : End());
    });
  }
}

TEST(LibcCallsTest, ProcessesStartWithoutHooks) {
  char* memory = NewPages();
  const Command command(memory);
  for (const Start& start : kStarts) {
    SCOPED_TRACE(start.name);
    EXPECT_EQ(start.run(command), 7);
  }
  errno = 0;
  EXPECT_EQ(execl("/nowhere", "nowhere", nullptr), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(posix_spawn(nullptr, "/nowhere", nullptr, nullptr, command.words, environ), ENOENT);
}

TEST(LibcCallsTest, EveryCallOfTheListIsTested) {
  std::set<std::string> tested = {"shmdt"};
  for (const auto& change : kChanges) tested.insert(change.name);
  for (const auto& start : kStarts) tested.insert(start.name);
#define NAME(name, ...) #name,
  for (const char* name : {COPSE_LIBC_CHANGE_CALLS(NAME) COPSE_LIBC_PROCESS_CALLS(NAME)})
    EXPECT_EQ(tested.count(name), 1u) << name;
#undef NAME
}

}  // namespace
}  // namespace copse::preload
