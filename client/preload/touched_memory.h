// SPDX-License-Identifier: Apache-2.0
//
// Defines types of the memory that a call of libc passes to the kernel, by the positions of its arguments; AwaitIt
// waits for pending data there, and ReleaseIt undoes remapping. Lists of buffers are read, which is an access like the
// program's own.
#ifndef COPSE_CLIENT_PRELOAD_TOUCHED_MEMORY_H_
#define COPSE_CLIENT_PRELOAD_TOUCHED_MEMORY_H_

#include <aio.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <tuple>

#include "client/preload/libc_next.h"
#include "client/tnbc/pages/memory_end.h"

namespace copse::preload {

template <int kIndex>
auto Argument(const auto&... arguments) {
  return std::get<kIndex>(std::tie(arguments...));
}

// The kernel refuses more than IOV_MAX vectors without reading them.
inline void AwaitVectors(const iovec* vectors, size_t count) {
  for (size_t i = 0; count <= IOV_MAX && i < count; ++i) Await(vectors[i].iov_base, vectors[i].iov_len);
}

inline void AwaitMessage(const msghdr& message) {
  Await(message.msg_name, message.msg_namelen);
  AwaitVectors(message.msg_iov, message.msg_iovlen);
  Await(message.msg_control, message.msg_controllen);
}

template <int kAddress, int kBytes>
struct Bytes {
  static void AwaitIt(const auto&... arguments) {
    Await(Argument<kAddress>(arguments...), Argument<kBytes>(arguments...));
  }
};

// ChangedBytes is memory of calls that treat shared memory differently, so its remapping is undone.
template <int kAddress, int kBytes>
struct ChangedBytes : Bytes<kAddress, kBytes> {
  static void ReleaseIt(const auto&... arguments) {
    Release(Argument<kAddress>(arguments...), Argument<kBytes>(arguments...), tnbc::MemoryEnd::kStays);
  }
};

// Unmapped is the memory of munmap(), which fails if the address is not the start of a page, so that the memory stays.
struct Unmapped : Bytes<0, 1> {
  static void ReleaseIt(const auto&... arguments) {
    const auto address = reinterpret_cast<uintptr_t>(Argument<0>(arguments...));
    const bool goes = address % static_cast<uintptr_t>(getpagesize()) == 0;
    Release(Argument<0>(arguments...), Argument<1>(arguments...),
            goes ? tnbc::MemoryEnd::kGoes : tnbc::MemoryEnd::kStays);
  }
};

// Items is an array; if its size overflows a size_t, it reaches to the end of memory.
template <int kAddress, int kItemBytes, int kCount>
struct Items {
  static void AwaitIt(const auto&... arguments) {
    size_t bytes;
    if (__builtin_mul_overflow(Argument<kItemBytes>(arguments...), Argument<kCount>(arguments...), &bytes)) {
      bytes = SIZE_MAX;
    }
    Await(Argument<kAddress>(arguments...), bytes);
  }
};

template <int kVectors, int kCount>
struct Vectors {
  static void AwaitIt(const auto&... arguments) {
    AwaitVectors(Argument<kVectors>(arguments...), Argument<kCount>(arguments...));
  }
};

template <int kMessage>
struct Message {
  static void AwaitIt(const auto&... arguments) { AwaitMessage(*Argument<kMessage>(arguments...)); }
};

template <int kMessages, int kCount>
struct Messages {
  static void AwaitIt(const auto&... arguments) {
    const mmsghdr* messages = Argument<kMessages>(arguments...);
    for (unsigned i = 0; i < Argument<kCount>(arguments...); ++i) AwaitMessage(messages[i].msg_hdr);
  }
};

// ControlBlock is the buffer of an aiocb or aiocb64.
template <int kBlock>
struct ControlBlock {
  static void AwaitIt(const auto&... arguments) {
    const auto* block = Argument<kBlock>(arguments...);
    Await(block->aio_buf, block->aio_nbytes);
  }
};

template <int kBlocks, int kCount>
struct ControlBlocks {
  static void AwaitIt(const auto&... arguments) {
    const auto* blocks = Argument<kBlocks>(arguments...);
    for (int i = 0; i < Argument<kCount>(arguments...); ++i) {
      if (blocks[i] != nullptr) ControlBlock<0>::AwaitIt(blocks[i]);
    }
  }
};

// KernelControlBlocks are the buffers of libaio's control blocks.
template <int kBlocks, int kCount>
struct KernelControlBlocks {
  static void AwaitIt(const auto&... arguments) {
    iocb** blocks = Argument<kBlocks>(arguments...);
    for (long i = 0; i < Argument<kCount>(arguments...); ++i) AwaitBlock(*blocks[i]);
  }

 private:
  static void AwaitBlock(const iocb& block) {
    const auto* buffer = reinterpret_cast<const void*>(static_cast<uintptr_t>(block.aio_buf));
    if (block.aio_lio_opcode == IOCB_CMD_PREADV || block.aio_lio_opcode == IOCB_CMD_PWRITEV) {
      AwaitVectors(static_cast<const iovec*>(buffer), block.aio_nbytes);
    } else {
      Await(buffer, block.aio_nbytes);
    }
  }
};

template <int kBuffer>
struct StreamBuffer {
  static void AwaitIt(const auto&... arguments) { Await(Argument<kBuffer>(arguments...), BUFSIZ); }
};

// FixedMapping is the memory that mmap() with MAP_FIXED replaces.
struct FixedMapping {
  static void AwaitIt(const auto&... arguments) {
    if ((Argument<3>(arguments...) & MAP_FIXED) != 0) Bytes<0, 1>::AwaitIt(arguments...);
  }
  // The contents are kept, since the mapping may fail.
  static void ReleaseIt(const auto&... arguments) {
    if ((Argument<3>(arguments...) & MAP_FIXED) != 0) ChangedBytes<0, 1>::ReleaseIt(arguments...);
  }
};

struct Nothing {
  static void AwaitIt(const auto&...) {}
};

// Anything is all memory, for calls whose memory is not known here.
struct Anything {
  static void AwaitIt(const auto&...) { AwaitAll(); }
};

// Forked is for calls that fork: a child would share remapped pages. Handlers of pthread_atfork() release them, too,
// but not all of these calls run such handlers.
struct Forked : Anything {
  static void ReleaseIt(const auto&...) { Release(nullptr, SIZE_MAX, tnbc::MemoryEnd::kStays); }
};

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_TOUCHED_MEMORY_H_
