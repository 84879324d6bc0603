// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/turn_stack.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/page_bytes.h"
#include "client/tnbc/pages/signal_bits.h"

namespace copse::tnbc {
namespace {

// The stack may be generous, since pages that were never accessed take no memory.
constexpr uint64_t kBytes = 1 << 20;

void CallOn(char* top, void (*function)(void*), void* argument) {
#if defined(__x86_64__)
  asm volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[function]\n\t"
      "movq %%rbx, %%rsp\n\t"
      : "+D"(argument)
      : [top] "r"(top), [function] "r"(function)
      : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
        "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
#elif defined(__aarch64__)
  register void* first asm("x0") = argument;
  asm volatile(
      "mov x19, sp\n\t"
      "mov sp, %[top]\n\t"
      "blr %[function]\n\t"
      "mov sp, x19\n\t"
      : "+r"(first)
      : [top] "r"(top), [function] "r"(function)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
        "x18", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
        "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
        "v30", "v31", "cc", "memory");
#else
#error "TurnStack is for x86-64 and aarch64, as the trampolines are"
#endif
}

struct Call {
  void (*function)(void*);
  void* argument;
};

// The kernel decides by the stack pointer alone whether a thread is on its alternate stack. During this call it would
// start the next handler at the top of the alternate stack, over the frames of the handler that waits for the call. So
// the alternate stack is disabled meanwhile.
void CallWithoutAlternateStack(void* argument) {
  const auto* const call = static_cast<const Call*>(argument);
  stack_t none{}, before{};
  none.ss_flags = SS_DISABLE;
  const bool is_off = Free(SYS_sigaltstack, &none, &before) == 0;
  call->function(call->argument);
  if (is_off) Free(SYS_sigaltstack, &before, nullptr);
}

}  // namespace

bool TurnStack::Map() {
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  low_ = static_cast<char*>(memory);
  top_ = low_ + kBytes;
  return mprotect(low_, PageBytes(), PROT_NONE) == 0;
}

TurnStack::~TurnStack() {
  if (low_ != nullptr) munmap(low_, kBytes);
}

bool TurnStack::RunAny(void (*function)(void*), void* argument) {
  if (is_used_.exchange(true, std::memory_order_acquire)) return false;  // pairs with the release below
  {
    const SignalMask held(SIG_BLOCK, kSignalsThatCanWait);
    Call call = {function, argument};
    CallOn(top_, CallWithoutAlternateStack, &call);
  }
  is_used_.store(false, std::memory_order_release);  // pairs with the acquire above
  return true;
}

}  // namespace copse::tnbc
