/* SPDX-License-Identifier: Apache-2.0 */
/* An application that has nothing to do: attaches, prints `ready`, and stays until its standard input ends. */
#include <stdio.h>

#include "bench/ranks/rank_talk.h"
#include "client/copse.h"

int main(void) {
  copse_context_t* context;
  if (copse_init(NULL, &context) != COPSE_OK) {
    fprintf(stderr, "idle_client: init: %s\n", copse_last_error());
    return 1;
  }
  say_ready();
  await_end_of_input();
  return copse_fini(context) == COPSE_OK ? 0 : 1;
}
