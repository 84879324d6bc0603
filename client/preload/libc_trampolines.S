/* SPDX-License-Identifier: Apache-2.0
 *
 * Defines the functions of libc_calls.h: each jumps through its slot of copse_libc_slots. Slots are in the list's
 * order. */
#include "client/preload/libc_calls.h"
#include "client/preload/trampolines.inc"

  .hidden copse_resolve_libc
resolver .Lresolve_libc, copse_resolve_libc

slots copse_libc_slots
#define CALL(name, ...) intercept name, .Lresolve_libc;
COPSE_LIBC_CALLS(CALL)

  .section .note.GNU-stack, "", %progbits
