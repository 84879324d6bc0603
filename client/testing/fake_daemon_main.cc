// SPDX-License-Identifier: Apache-2.0
//
// The fake daemon as a program, for tests of other programs: prints its socket and serves until it is killed.

#include <unistd.h>

#include <cstdio>

#include "client/testing/fake_daemon.h"

int main() {
  const copse::client::FakeDaemon daemon;
  printf("%s\n", daemon.socket().c_str());
  fflush(stdout);
  while (true) pause();
}
