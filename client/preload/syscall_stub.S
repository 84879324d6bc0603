/* SPDX-License-Identifier: Apache-2.0
 *
 * The code whose system calls are let through while memory is pending (syscall_guard.h). The kernel looks at the address
 * behind the instruction, so something follows the last one. */
#if defined(__x86_64__)

.macro hidden name
  .globl \name
  .hidden \name
  .type \name, @function
\name:
.endm

  .text
  .p2align 4
hidden copse_preload_syscall_begin

/* long copse_preload_syscall(long number, long a, long b, long c, long d, long e, long f): what the kernel returns. */
hidden copse_preload_syscall
  .cfi_startproc
  endbr64
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
  ret
  .cfi_endproc

/* Where a call goes on that was stopped: its registers are as they were, but for the stack's, which is below the red
 * zone. There lies where the call returns, which the kernel would have left in rcx. */
hidden copse_preload_redo_syscall
  .cfi_startproc
  .cfi_signal_frame
  .cfi_def_cfa %rsp, 136
  .cfi_offset %rip, -136
  syscall
  movq (%rsp), %rcx
  leaq 136(%rsp), %rsp
  .cfi_def_cfa %rsp, 0
  .cfi_register %rip, %rcx
  notrack jmp *%rcx
  .cfi_endproc

/* The same for rt_sigreturn, which finds its frame by the stack. */
hidden copse_preload_redo_sigreturn
  syscall
  hlt

/* Behind the handler. Unwinders know it by its bytes, which are libc's, and by having no description. */
  .p2align 4
  nop
hidden copse_preload_restore_signal
  movq $15, %rax
  syscall
  hlt
hidden copse_preload_syscall_end

#endif

  .section .note.GNU-stack, "", %progbits
