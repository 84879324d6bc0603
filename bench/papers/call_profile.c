/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/call_profile.h"

#include <string.h>

#include "bench/ranks/rank_talk.h"

static profile_call calls[kProfileCallsMax];
static profile_call unwanted; /* beyond those, and before the first */
static profile_call* current = &unwanted;
static int call_count;
static double last_us; /* when something was last said */

/* Since then. */
static double lap(void) {
  const double now = wall_us(), took = now - last_us;
  last_us = now;
  return took;
}

void profile_start(void) {
  call_count = 0;
  memset(calls, 0, sizeof(calls));
  current = &unwanted;
  lap();
}

void profile_enter(void) {
  current->after += lap();
  current = call_count < kProfileCallsMax ? &calls[call_count++] : &unwanted;
}

void profile_leave(void) { current->call += lap(); }

void profile_blocks(void) { current->before += lap(); }

void profile_blocks_read(void) { current->blocks += lap(); }

void profile_end(void) { current->after += lap(); }

const profile_call* profile_calls(int* count) {
  *count = call_count;
  return calls;
}
