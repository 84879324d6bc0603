/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls made by this code are not stopped while memory is pending (syscall_guard.h). The kernel checks the
 * address after the syscall instruction, so another instruction follows the last one. */
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

/* long copse_preload_syscall(long number, long a, long b, long c, long d, long e, long f)
 * returns the kernel's result. */
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

/* A call that was stopped continues here, with its registers as they were, except that the stack pointer is below the
 * red zone. The address to which the call returns is stored there; the kernel would have left it in rcx. */
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

/* A stopped rt_sigreturn continues here, with the stack pointer as it was, since the kernel finds the frame by it. */
hidden copse_preload_redo_sigreturn
  syscall
  hlt

/* The handler returns to this. Unwinders recognize it by its bytes, which are those of libc's restorer, and by its lack
 * of unwind information. */
  .p2align 4
  nop
hidden copse_preload_restore_signal
  movq $15, %rax
  syscall
  hlt
hidden copse_preload_syscall_end

#endif

  .section .note.GNU-stack, "", %progbits
