// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/complaints.h"

#include <stdlib.h>
#include <string.h>

namespace copse::mpi {

const char* Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

void Complain(const char* name, const char* why, const char* value, Complaints* complaints) {
  complaints->push_back(std::string(name) + ": " + why + ", so it is ignored (value=" + value + ")");
}

bool IsOther(const char* name, const char* usual, const char* other, Complaints* complaints) {
  const char* value = Variable(name);
  if (*value == '\0' || strcmp(value, usual) == 0) return false;
  if (strcmp(value, other) == 0) return true;
  Complain(name, (std::string("neither ") + usual + " nor " + other).c_str(), value, complaints);
  return false;
}

}  // namespace copse::mpi
