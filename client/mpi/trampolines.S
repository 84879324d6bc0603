/* SPDX-License-Identifier: Apache-2.0
 *
 * MPI_X and PMPI_X for every entry, and the functions of libc_calls.h: a jump through a slot of copse_mpi_slots or
 * copse_mpi_libc_slots. No signature is known here, so arguments are left where they are, in registers and on the stack.
 * A slot first leads to `resolve`, which asks a function of the preload what its slot stands for and goes on to that.
 * Slots lie in the lists' order, MPI_X before PMPI_X. */
#include "client/mpi/entries.h"
#include "client/mpi/libc_calls.h"

#if defined(__x86_64__)

/* slot: x86-64's r11 is free between functions. */
.macro intercept name, resolve
  .text
  .p2align 4
  .globl \name
  .type \name, @function
\name:
  endbr64
  jmp *.Lslot_\name(%rip)
  .size \name, . - \name
.Lfirst_\name:
  leaq .Lslot_\name(%rip), %r11
  jmp \resolve
  .data
.Lslot_\name:
  .quad .Lfirst_\name
.endm

.macro resolver resolve, function
  .text
  .p2align 4
  .type \resolve, @function
\resolve:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  /* The registers of integer and pointer arguments; none of the functions has others. */
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %r11
  movq %r11, %rdi
  call \function
  movq %rax, %r10
  popq %r11
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  .cfi_def_cfa %rsp, 8
  jmp *%r10
  .cfi_endproc
.endm

#elif defined(__aarch64__)

/* x16 and x17 are free between functions. */
.macro intercept name, resolve
  .text
  .p2align 4
  .globl \name
  .type \name, %function
\name:
  hint #34 /* bti c */
  adrp x16, .Lslot_\name
  ldr x16, [x16, :lo12:.Lslot_\name]
  br x16
  .size \name, . - \name
.Lfirst_\name:
  hint #36 /* bti j */
  adrp x17, .Lslot_\name
  add x17, x17, :lo12:.Lslot_\name
  b \resolve
  .data
.Lslot_\name:
  .quad .Lfirst_\name
.endm

.macro resolver resolve, function
  .text
  .p2align 4
  .type \resolve, %function
\resolve:
  .cfi_startproc
  stp x29, x30, [sp, #-96]!
  .cfi_def_cfa_offset 96
  .cfi_offset x29, -96
  .cfi_offset x30, -88
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  mov x0, x17
  bl \function
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp x29, x30, [sp], #96
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
.endm

#else
#error "libcopse-mpi has no trampolines for this architecture (it has them for x86-64 and aarch64)"
#endif

  .hidden copse_mpi_resolve
  .hidden copse_mpi_resolve_libc
resolver .Lresolve, copse_mpi_resolve
resolver .Lresolve_libc, copse_mpi_resolve_libc

.macro slots name
  .data
  .p2align 3
  .globl \name
  .hidden \name
  .type \name, STT_OBJECT
\name:
.endm

slots copse_mpi_slots
#define ENTRY(name) intercept MPI_##name, .Lresolve; intercept PMPI_##name, .Lresolve;
COPSE_MPI_ENTRIES(ENTRY)

slots copse_mpi_libc_slots
#define CALL(name, ...) intercept name, .Lresolve_libc;
COPSE_MPI_LIBC_CALLS(CALL)

  .section .note.GNU-stack, "", %progbits
