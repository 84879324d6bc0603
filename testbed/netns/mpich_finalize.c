/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded into MPICH's ranks so that MPI_Finalize of MPICH 4.0.2 over UCX ends.
 *
 * There a rank that has closed its endpoints waits in a barrier of the process manager without making progress, while
 * another may still need its answer to close: several times in ten with two ranks per node. Later versions have no such
 * barrier (https://github.com/pmodels/mpich/pull/6596). Here, a rank that waits for the process manager drives UCX.
 * Nothing else is changed: messages between ranks never pass here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Opaque types of UCX: its headers are not for this folder. */
typedef int (*create_function)(void* context, const void* params, void** worker);
typedef void (*destroy_function)(void* worker);
typedef unsigned (*progress_function)(void* worker);
typedef ssize_t (*read_function)(int fd, void* buffer, size_t bytes);

static void* the_worker;

EXPORT int ucp_worker_create(void* context, const void* params, void** worker) {
  const create_function next = (create_function)dlsym(RTLD_NEXT, "ucp_worker_create");
  const int status = next(context, params, worker);
  if (status == 0) the_worker = *worker;
  return status;
}

EXPORT void ucp_worker_destroy(void* worker) {
  if (worker == the_worker) the_worker = NULL;
  const destroy_function next = (destroy_function)dlsym(RTLD_NEXT, "ucp_worker_destroy");
  next(worker);
}

EXPORT ssize_t read(int fd, void* buffer, size_t bytes) {
  static read_function next;
  static progress_function progress;
  if (next == NULL) next = (read_function)dlsym(RTLD_NEXT, "read");
  const char* manager = the_worker != NULL ? getenv("PMI_FD") : NULL;
  if (manager == NULL || atoi(manager) != fd) return next(fd, buffer, bytes);
  if (progress == NULL) progress = (progress_function)dlsym(RTLD_DEFAULT, "ucp_worker_progress");
  struct pollfd event = {.fd = fd, .events = POLLIN, .revents = 0};
  while (progress != NULL && poll(&event, 1, 1) == 0) progress(the_worker);
  return next(fd, buffer, bytes);
}
