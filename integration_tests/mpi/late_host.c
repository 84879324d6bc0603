/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of MPI and loads a module that does, where only that module sees it: as a Python
 * interpreter does. Argument: the module. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (module == NULL) {
    fprintf(stderr, "late_host: %s\n", dlerror());
    return 2;
  }
  int (*run)(void) = (int (*)(void))dlsym(module, "run");
  return run == NULL ? 2 : run();
}
