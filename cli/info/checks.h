// SPDX-License-Identifier: Apache-2.0
//
// Finds what of a system would keep Copse from working.
#ifndef COPSE_CLI_INFO_CHECKS_H_
#define COPSE_CLI_INFO_CHECKS_H_

#include <string>
#include <vector>

namespace copse::info {

// A Check is something that was looked at. Its texts are for people.
struct Check {
  std::string check;   // "open files"
  std::string seen;    // "1024"
  std::string wanted;  // "at least 4096"
  bool ok = true;
  std::string advice;  // what to do; empty if it is ok
};

// Looks at the kernel, the limits of this process and the libraries that there are. Changes nothing.
std::vector<Check> CheckSystem();

// Looks for a daemon where a program would: COPSE_SOCKET, @copse, then /run/copse/copsed.sock.
Check CheckDaemonSocket();

}  // namespace copse::info

#endif  // COPSE_CLI_INFO_CHECKS_H_
