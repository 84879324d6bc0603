/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways in which MPI completes requests. */
#ifndef COPSE_INTEGRATION_TESTS_MPI_COMPLETION_H_
#define COPSE_INTEGRATION_TESTS_MPI_COMPLETION_H_

#include <mpi.h>
#include <sched.h>
#include <stddef.h>

enum { COMPLETION_WAYS = 9 };

/* Completes all requests in one of the ways; statuses[i] is that of requests[i]. NULL: statuses are ignored. A
 * persistent request that is not active counts as none. Returns MPI's code. */
static inline int complete_requests(int count, MPI_Request* requests, MPI_Status* statuses, unsigned way) {
  int code = MPI_SUCCESS, done = 0, index = 0, some = 0, indices[count];
  MPI_Status found[count];
  MPI_Status* const all = statuses == NULL ? MPI_STATUSES_IGNORE : statuses;
  MPI_Status* const one = statuses == NULL ? MPI_STATUS_IGNORE : found;
  switch (way) {
    case 0:
      return MPI_Waitall(count, requests, all);
    case 1:
      for (; code == MPI_SUCCESS && !done; sched_yield()) code = MPI_Testall(count, requests, &done, all);
      return code;
    case 2:
      for (int i = count; i-- > 0;) {
        code |= MPI_Wait(&requests[i], one);
        if (statuses != NULL) statuses[i] = *one;
      }
      return code;
    case 3:
      for (int i = 0; i < count; ++i) {
        for (done = 0; code == MPI_SUCCESS && !done; sched_yield()) code = MPI_Test(&requests[i], &done, one);
        if (statuses != NULL) statuses[i] = *one;
      }
      return code;
    case 4:
    case 5:
      for (; code == MPI_SUCCESS && !(done && index == MPI_UNDEFINED); sched_yield()) {
        done = 1;
        code = way == 4 ? MPI_Waitany(count, requests, &index, one) : MPI_Testany(count, requests, &index, &done, one);
        if (statuses != NULL && done && index != MPI_UNDEFINED) statuses[index] = *one;
      }
      return code;
    case 6:
    case 7:
      for (;; sched_yield()) {
        MPI_Status* const these = statuses == NULL ? MPI_STATUSES_IGNORE : found;
        code = (way == 6 ? MPI_Waitsome : MPI_Testsome)(count, requests, &some, indices, these);
        if (code != MPI_SUCCESS || some == MPI_UNDEFINED) return code;
        for (int i = 0; statuses != NULL && i < some; ++i) statuses[indices[i]] = found[i];
      }
    default:
      for (int i = 0; i < count; ++i) {
        for (done = 0; code == MPI_SUCCESS && !done; sched_yield()) {
          code = MPI_Request_get_status(requests[i], &done, &found[0]);
        }
      }
      return code != MPI_SUCCESS ? code : MPI_Waitall(count, requests, all);
  }
}

#endif /* COPSE_INTEGRATION_TESTS_MPI_COMPLETION_H_ */
