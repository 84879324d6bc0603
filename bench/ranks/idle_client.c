/* SPDX-License-Identifier: Apache-2.0 */
/* An application that has nothing to do: attaches, prints `ready`, and stays until its standard input ends. */
#include <stdio.h>
#include <unistd.h>

#include "client/copse.h"

int main(void) {
  copse_context_t* context;
  if (copse_init(NULL, &context) != COPSE_OK) {
    fprintf(stderr, "idle_client: init: %s\n", copse_last_error());
    return 1;
  }
  printf("ready\n");
  fflush(stdout);
  char ignored[64];
  while (read(0, ignored, sizeof(ignored)) > 0) {
  }
  return copse_fini(context) == COPSE_OK ? 0 : 1;
}
