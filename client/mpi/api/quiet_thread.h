// SPDX-License-Identifier: Apache-2.0
//
// Starts threads of this library in the program's process.
#ifndef COPSE_CLIENT_MPI_API_QUIET_THREAD_H_
#define COPSE_CLIENT_MPI_API_QUIET_THREAD_H_

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace copse::mpi {

// Starts a thread in which all signals are blocked, so that it runs none of the program's handlers. Throws
// std::system_error if there can be no thread.
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
