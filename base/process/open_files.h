// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_BASE_PROCESS_OPEN_FILES_H_
#define COPSE_BASE_PROCESS_OPEN_FILES_H_

#include <cstdint>

namespace copse {

// Raises the limit of open files to the hard one, and returns it. The soft limit protects programs that call select(),
// which ours do not.
uint64_t RaiseOpenFiles();

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_OPEN_FILES_H_
