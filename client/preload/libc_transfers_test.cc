// SPDX-License-Identifier: Apache-2.0
//
// Calls of libc that read and write, on memory that is pending and on memory that is just inaccessible.
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <set>
#include <string>

#include "client/preload/libc_calls.h"
#include "client/preload/libc_test_engine.h"
#include "gtest/gtest.h"

extern "C" {
// Functions of libc that its headers show to some programs only.
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void*, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);
int io_submit(aio_context_t, long, iocb**);
}

namespace copse::preload {
namespace {

enum class Direction { kInto, kFrom };
enum class Kind { kFile, kSocket, kPipe };

// Moves kBytes between `memory` and `fd`, and returns how many bytes it did, or -1.
struct Transfer {
  const char* name;
  Direction direction;
  Kind kind;
  ssize_t (*run)(int fd, char* memory);
};

// The kernel's buffers, which libc's functions take in two pieces.
struct TwoVectors {
  explicit TwoVectors(char* memory)
      : vectors{{memory, kPageBytes}, {memory + kPageBytes, kBytes - kPageBytes}}, message{} {
    message.msg_iov = vectors;
    message.msg_iovlen = 2;
  }
  msghdr* Message() { return &message; }
  iovec vectors[2];
  msghdr message;
};

template <typename Call>
ssize_t WithMessages(char* memory, Call call) {
  TwoVectors two(memory);
  mmsghdr messages[1] = {{two.message, 0}};
  return call(messages) == 1 ? static_cast<ssize_t>(messages[0].msg_len) : -1;
}

// What the stream could not do is in errno.
template <typename Call>
ssize_t WithStream(int fd, Call call) {
  FILE* stream = fdopen(dup(fd), "r+");
  const size_t items = call(stream);
  const int error = errno;
  fclose(stream);
  errno = error;
  return items == kBytes / 4 ? static_cast<ssize_t>(kBytes) : -1;
}

ssize_t EndOf(aiocb* block) {
  const aiocb* const blocks[] = {block};
  while (aio_error(block) == EINPROGRESS) aio_suspend(blocks, 1, nullptr);
  errno = aio_error(block);
  return aio_return(block);
}

template <typename Call>
ssize_t WithBlock(int fd, char* memory, int operation, Call call) {
  aiocb block = {};
  block.aio_fildes = fd;
  block.aio_buf = memory;
  block.aio_nbytes = kBytes;
  block.aio_lio_opcode = operation;
  return call(&block) == 0 || errno == EIO ? EndOf(&block) : -1;
}
aiocb64* As64(aiocb* block) { return reinterpret_cast<aiocb64*>(block); }

// libaio is where only its users see it.
ssize_t WithKernelBlock(int fd, uint16_t operation, const void* buffer, uint64_t count) {
  static void* const library = dlopen("client/preload/libc_test_aio.so", RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  aio_context_t context = 0;
  if (syscall(SYS_io_setup, 1, &context) != 0) return -1;
  iocb block = {};
  block.aio_fildes = static_cast<uint32_t>(fd);
  block.aio_lio_opcode = operation;
  block.aio_buf = reinterpret_cast<uintptr_t>(buffer);
  block.aio_nbytes = count;
  iocb* blocks[] = {&block};
  io_event event = {};
  ssize_t result = io_submit(context, 1, blocks);
  if (result == 1) {
    EXPECT_EQ(syscall(SYS_io_getevents, context, 1, 1, &event, nullptr), 1);
    result = event.res;
  }
  syscall(SYS_io_destroy, context);
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// The other side of process_vm_readv() and process_vm_writev(): what `fd` has, mapped.
template <typename Call>
ssize_t WithOwnMemory(int fd, char* memory, Call call) {
  void* other = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const iovec remote = {other, kBytes};
  const ssize_t result = call(getpid(), TwoVectors(memory).vectors, 2, &remote, 1, 0);
  const int error = errno;
  munmap(other, kBytes);
  errno = error;
  return result;
}

constexpr Direction kInto = Direction::kInto, kFrom = Direction::kFrom;
constexpr Kind kFile = Kind::kFile, kSocket = Kind::kSocket, kPipe = Kind::kPipe;

const Transfer kTransfers[] = {
    {"read", kInto, kFile, [](int fd, char* p) { return read(fd, p, kBytes); }},
    {"pread", kInto, kFile, [](int fd, char* p) { return pread(fd, p, kBytes, 0); }},
    {"pread64", kInto, kFile, [](int fd, char* p) { return pread64(fd, p, kBytes, 0); }},
    {"__read_chk", kInto, kFile, [](int fd, char* p) { return __read_chk(fd, p, kBytes, kBytes); }},
    {"__pread_chk", kInto, kFile, [](int fd, char* p) { return __pread_chk(fd, p, kBytes, 0, kBytes); }},
    {"__pread64_chk", kInto, kFile, [](int fd, char* p) { return __pread64_chk(fd, p, kBytes, 0, kBytes); }},
    {"readv", kInto, kFile, [](int fd, char* p) { return readv(fd, TwoVectors(p).vectors, 2); }},
    {"preadv", kInto, kFile, [](int fd, char* p) { return preadv(fd, TwoVectors(p).vectors, 2, 0); }},
    {"preadv64", kInto, kFile, [](int fd, char* p) { return preadv64(fd, TwoVectors(p).vectors, 2, 0); }},
    {"preadv2", kInto, kFile, [](int fd, char* p) { return preadv2(fd, TwoVectors(p).vectors, 2, 0, 0); }},
    {"preadv64v2", kInto, kFile, [](int fd, char* p) { return preadv64v2(fd, TwoVectors(p).vectors, 2, 0, 0); }},
    {"write", kFrom, kFile, [](int fd, char* p) { return write(fd, p, kBytes); }},
    {"pwrite", kFrom, kFile, [](int fd, char* p) { return pwrite(fd, p, kBytes, 0); }},
    {"pwrite64", kFrom, kFile, [](int fd, char* p) { return pwrite64(fd, p, kBytes, 0); }},
    {"writev", kFrom, kFile, [](int fd, char* p) { return writev(fd, TwoVectors(p).vectors, 2); }},
    {"pwritev", kFrom, kFile, [](int fd, char* p) { return pwritev(fd, TwoVectors(p).vectors, 2, 0); }},
    {"pwritev64", kFrom, kFile, [](int fd, char* p) { return pwritev64(fd, TwoVectors(p).vectors, 2, 0); }},
    {"pwritev2", kFrom, kFile, [](int fd, char* p) { return pwritev2(fd, TwoVectors(p).vectors, 2, 0, 0); }},
    {"pwritev64v2", kFrom, kFile, [](int fd, char* p) { return pwritev64v2(fd, TwoVectors(p).vectors, 2, 0, 0); }},
    {"vmsplice", kFrom, kPipe, [](int fd, char* p) { return vmsplice(fd, TwoVectors(p).vectors, 2, 0); }},
    {"process_vm_readv", kInto, kFile, [](int fd, char* p) { return WithOwnMemory(fd, p, process_vm_readv); }},
    {"process_vm_writev", kFrom, kFile, [](int fd, char* p) { return WithOwnMemory(fd, p, process_vm_writev); }},
    {"send", kFrom, kSocket, [](int fd, char* p) { return send(fd, p, kBytes, 0); }},
    {"sendto", kFrom, kSocket, [](int fd, char* p) { return sendto(fd, p, kBytes, 0, nullptr, 0); }},
    {"sendmsg", kFrom, kSocket, [](int fd, char* p) { return sendmsg(fd, TwoVectors(p).Message(), 0); }},
    {"sendmmsg", kFrom, kSocket,
     [](int fd, char* p) { return WithMessages(p, [&](mmsghdr* m) { return sendmmsg(fd, m, 1, 0); }); }},
    {"recv", kInto, kSocket, [](int fd, char* p) { return recv(fd, p, kBytes, 0); }},
    {"__recv_chk", kInto, kSocket, [](int fd, char* p) { return __recv_chk(fd, p, kBytes, kBytes, 0); }},
    {"recvfrom", kInto, kSocket, [](int fd, char* p) { return recvfrom(fd, p, kBytes, 0, nullptr, nullptr); }},
    {"__recvfrom_chk", kInto, kSocket,
     [](int fd, char* p) { return __recvfrom_chk(fd, p, kBytes, kBytes, 0, nullptr, nullptr); }},
    {"recvmsg", kInto, kSocket, [](int fd, char* p) { return recvmsg(fd, TwoVectors(p).Message(), 0); }},
    {"recvmmsg", kInto, kSocket,
     [](int fd, char* p) { return WithMessages(p, [&](mmsghdr* m) { return recvmmsg(fd, m, 1, 0, nullptr); }); }},
    {"aio_read", kInto, kFile, [](int fd, char* p) { return WithBlock(fd, p, LIO_NOP, aio_read); }},
    {"aio_read64", kInto, kFile,
     [](int fd, char* p) { return WithBlock(fd, p, LIO_NOP, [](aiocb* b) { return aio_read64(As64(b)); }); }},
    {"aio_write", kFrom, kFile, [](int fd, char* p) { return WithBlock(fd, p, LIO_NOP, aio_write); }},
    {"aio_write64", kFrom, kFile,
     [](int fd, char* p) { return WithBlock(fd, p, LIO_NOP, [](aiocb* b) { return aio_write64(As64(b)); }); }},
    {"lio_listio", kInto, kFile,
     [](int fd, char* p) {
       return WithBlock(fd, p, LIO_READ, [](aiocb* b) {
         aiocb* blocks[] = {nullptr, b};
         return lio_listio(LIO_WAIT, blocks, 2, nullptr);
       });
     }},
    {"lio_listio64", kFrom, kFile,
     [](int fd, char* p) {
       return WithBlock(fd, p, LIO_WRITE, [](aiocb* b) {
         aiocb64* blocks[] = {nullptr, As64(b)};
         return lio_listio64(LIO_WAIT, blocks, 2, nullptr);
       });
     }},
    {"io_submit", kInto, kFile, [](int fd, char* p) { return WithKernelBlock(fd, IOCB_CMD_PREAD, p, kBytes); }},
    {"io_submit", kFrom, kFile,
     [](int fd, char* p) { return WithKernelBlock(fd, IOCB_CMD_PWRITEV, TwoVectors(p).vectors, 2); }},
    {"fread", kInto, kFile,
     [](int fd, char* p) { return WithStream(fd, [&](FILE* f) { return fread(p, 4, kBytes / 4, f); }); }},
    {"fread_unlocked", kInto, kFile,
     [](int fd, char* p) { return WithStream(fd, [&](FILE* f) { return fread_unlocked(p, 4, kBytes / 4, f); }); }},
    {"__fread_chk", kInto, kFile,
     [](int fd, char* p) { return WithStream(fd, [&](FILE* f) { return __fread_chk(p, kBytes, 4, kBytes / 4, f); }); }},
    {"__fread_unlocked_chk", kInto, kFile,
     [](int fd, char* p) {
       return WithStream(fd, [&](FILE* f) { return __fread_unlocked_chk(p, kBytes, 4, kBytes / 4, f); });
     }},
    {"fwrite", kFrom, kFile,
     [](int fd, char* p) { return WithStream(fd, [&](FILE* f) { return fwrite(p, 4, kBytes / 4, f); }); }},
    {"fwrite_unlocked", kFrom, kFile,
     [](int fd, char* p) { return WithStream(fd, [&](FILE* f) { return fwrite_unlocked(p, 4, kBytes / 4, f); }); }},
};

std::string Content() {
  std::string content(kBytes, '\0');
  for (size_t i = 0; i < kBytes; ++i) content[i] = static_cast<char>('a' + i % 23);
  return content;
}

// The fd of the call, and the one at which the test has the other end; they may be the same.
struct Channel {
  int fd, peer;
};

Channel NewChannel(Kind kind) {
  int fds[2];
  if (kind == Kind::kFile) {
    const int fd = memfd_create("content", 0);
    EXPECT_EQ(ftruncate(fd, kBytes), 0);
    return {fd, fd};
  }
  EXPECT_EQ(kind == Kind::kSocket ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds) : pipe(fds), 0);
  return {fds[1], fds[0]};
}

void Fill(Kind kind, int peer) {
  const std::string content = Content();
  const ssize_t bytes =
      kind == Kind::kFile ? pwrite(peer, content.data(), kBytes, 0) : write(peer, content.data(), kBytes);
  EXPECT_EQ(bytes, kBytes);
}

std::string Drain(Kind kind, int peer) {
  std::string content(kBytes, '\0');
  const ssize_t bytes =
      kind == Kind::kFile ? pread(peer, content.data(), kBytes, 0) : read(peer, content.data(), kBytes);
  EXPECT_EQ(bytes, kBytes);
  return content;
}

// Makes the call on hidden memory and returns what it does.
ssize_t RunOnHidden(const Transfer& transfer, const Channel& channel, char* memory) {
  const std::string content = Content();
  if (transfer.direction == Direction::kInto) {
    Fill(transfer.kind, channel.peer);
  } else {
    memcpy(memory, content.data(), kBytes);
  }
  Hide(memory, kBytes);
  errno = 0;
  return transfer.run(channel.fd, memory);
}

TEST(LibcTransfersTest, SucceedOnPendingMemory) {
  for (const Transfer& transfer : kTransfers) {
    SCOPED_TRACE(transfer.name);
    InChild([&] {
      SetHooks();
      const Channel channel = NewChannel(transfer.kind);
      char* memory = NewPages();
      EXPECT_EQ(RunOnHidden(transfer, channel, memory), kBytes) << strerror(errno);
      EXPECT_EQ(errno, 0);
      EXPECT_EQ(TheEngine()->awaited, 1);
      const bool is_into = transfer.direction == Direction::kInto;
      EXPECT_EQ(is_into ? std::string(memory, kBytes) : Drain(transfer.kind, channel.peer), Content());
    });
  }
}

TEST(LibcTransfersTest, FailOnInaccessibleMemoryWithoutHooks) {
  for (const Transfer& transfer : kTransfers) {
    SCOPED_TRACE(transfer.name);
    InChild([&] {
      EXPECT_EQ(RunOnHidden(transfer, NewChannel(transfer.kind), NewPages()), -1);
      EXPECT_EQ(errno, EFAULT);
    });
  }
}

TEST(LibcTransfersTest, AwaitNothingElsewhere) {
  InChild([] {
    SetHooks();
    Hide(NewPages(), kBytes);
    char other[16];
    const Channel channel = NewChannel(Kind::kFile);
    EXPECT_EQ(pread(channel.fd, other, sizeof(other), 0), 16);
    EXPECT_EQ(read(-1, other, sizeof(other)), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(TheEngine()->awaited, 0);
  });
}

TEST(LibcTransfersTest, AHugeLengthReachesToTheEndOfMemory) {
  InChild([] {
    SetHooks();
    char* memory = NewPages();
    Hide(memory, kBytes);
    volatile size_t huge = SIZE_MAX;  // the compiler knows that it is
    EXPECT_EQ(write(-1, memory - 1, huge), -1);
    EXPECT_EQ(TheEngine()->awaited, 1);
    Hide(memory, kBytes);
    EXPECT_EQ(fwrite(memory, huge / 2, 3, fopen("/dev/null", "r")), 0u);
    EXPECT_EQ(TheEngine()->awaited, 2);
  });
}

void OnFault(int) { Arrive(); }

// These look at memory, or write it, outside the kernel, where a signal awaits it.
TEST(LibcTransfersTest, OtherFunctionsOfStreamsNeedNoHelp) {
  InChild([] {
    signal(SIGSEGV, OnFault);
    SetHooks();
    std::string text = Content();
    text.back() = '\0';
    const auto write = [&](int (*call)(FILE*, const char*)) {
      FILE* stream = tmpfile();
      char* memory = NewPages();
      memcpy(memory, text.data(), kBytes);
      Hide(memory, kBytes);
      EXPECT_GE(call(stream, memory), 0);
      rewind(stream);
      return stream;
    };
    const auto read = [&](FILE* stream) {
      char* memory = NewPages();
      Hide(memory, kBytes);
      EXPECT_EQ(fgets(memory, kBytes, stream), memory) << strerror(errno);
      return std::string(memory, kBytes);
    };
    EXPECT_EQ(read(write([](FILE* stream, const char* memory) { return fputs(memory, stream); })), text);
    EXPECT_EQ(read(write([](FILE* stream, const char* memory) { return fprintf(stream, "%s", memory); })), text);
    EXPECT_EQ(TheEngine()->awaited, 4);
  });
}

void* ReadForEver(void* fd) {
  char byte;
  return reinterpret_cast<void*>(read(*static_cast<int*>(fd), &byte, 1));
}

TEST(LibcTransfersTest, AThreadThatReadsCanBeCanceled) {
  InChild([] {
    SetHooks();
    Hide(NewPages(), kBytes);
    Channel channel = NewChannel(Kind::kPipe);
    pthread_t thread;
    void* result = nullptr;
    EXPECT_EQ(pthread_create(&thread, nullptr, ReadForEver, &channel.peer), 0);
    EXPECT_EQ(pthread_cancel(thread), 0);
    EXPECT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
  });
}

TEST(LibcTransfersTest, EveryCallOfTheListIsTested) {
  std::set<std::string> tested;
  for (const auto& transfer : kTransfers) tested.insert(transfer.name);
#define NAME(name, ...) #name,
  for (const char* name : {COPSE_LIBC_TRANSFER_CALLS(NAME)}) EXPECT_EQ(tested.count(name), 1u) << name;
#undef NAME
}

// A library that is loaded later, and whose symbols all see.
TEST(LibcTransfersTest, AFunctionThatIsLoadedLaterKeepsItsWrapper) {
  InChild([] {
    SetHooks();
    ASSERT_NE(dlopen("client/preload/libc_test_aio.so", RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    const Channel channel = NewChannel(Kind::kFile);
    for (int calls = 1; calls <= 3; ++calls) {
      char* memory = NewPages();
      Hide(memory, kBytes);
      EXPECT_EQ(WithKernelBlock(channel.fd, IOCB_CMD_PWRITE, memory, kBytes), static_cast<ssize_t>(kBytes));
      EXPECT_EQ(TheEngine()->awaited, calls);
    }
  });
}

}  // namespace
}  // namespace copse::preload
