/* SPDX-License-Identifier: Apache-2.0
 *
 * This library is preloaded together with libcopse-preload.so. Its constructor, which may run before the preload's,
 * calls functions that the preload wraps. Any program then prints "early calls: right", or what was wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* Wrong(void) {
  /* The next caller of dlsym() frees the error text of this call. */
  if (dlsym(RTLD_DEFAULT, "copse_no_such_function") != NULL) return "dlsym";
  char* chunk = realloc(malloc(16), 1 << 20);
  if (chunk == NULL) return "realloc";
  free(chunk);

  char magic[4];
  const int self = open("/proc/self/exe", O_RDONLY);
  if (read(self, magic, 4) != 4 || memcmp(magic, "\177ELF", 4) != 0) return "read";

  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || mprotect(page, 4096, PROT_NONE) != 0) return "mmap";
  if (read(self, page, 4) != -1 || errno != EFAULT) return "read to inaccessible memory";
  if (munmap(page, 4096) != 0) return "munmap";

  sigset_t set, previous;
  sigemptyset(&set);
  sigaddset(&set, SIGSEGV);
  if (sigprocmask(SIG_BLOCK, &set, &previous) != 0 || sigismember(&previous, SIGSEGV)) return "sigprocmask";
  if (sigprocmask(SIG_UNBLOCK, &set, &previous) != 0 || !sigismember(&previous, SIGSEGV)) return "sigprocmask's mask";

  int status = 0;
  const pid_t pid = vfork();
  if (pid == 0) _exit(3);
  if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3) return "vfork";
  return NULL;
}

__attribute__((constructor)) static void CallEarly(void) {
  const char* wrong = Wrong();
  printf("early calls: %s\n", wrong == NULL ? "right" : wrong);
  fflush(stdout);
}
