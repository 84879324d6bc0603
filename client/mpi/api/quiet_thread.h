// SPDX-License-Identifier: Apache-2.0
//
// Threads of ours in the program's process.
#ifndef COPSE_CLIENT_MPI_API_QUIET_THREAD_H_
#define COPSE_CLIENT_MPI_API_QUIET_THREAD_H_

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace copse::mpi {

// A thread that takes none of the program's signals. Throws what std::thread does.
template <typename Function>
std::thread QuietThread(Function function) {
  struct Blocked {
    Blocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
  };
  const Blocked blocked;
  return std::thread(std::move(function));
}

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_QUIET_THREAD_H_
