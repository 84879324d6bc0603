// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_SESSION_SENTENCE_H_
#define COPSE_CLIENT_MPI_SESSION_SENTENCE_H_

#include <stdio.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace copse::mpi {

// Returns texts and integers one behind the other.
template <typename... Parts>
std::string Sentence(const Parts&... parts) {
  std::string text;
  const auto add = [&text](const auto& part) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  };
  (add(parts), ...);
  return text;
}

// Returns a time in three digits, such as "481 ms".
inline std::string TimeText(double ns) {
  char text[32];
  // A number that would be rounded to 1000 of a unit is 1 of the next.
  if (ns < 999.5e3) {
    snprintf(text, sizeof(text), "%.3g us", ns / 1e3);
  } else if (ns < 999.5e6) {
    snprintf(text, sizeof(text), "%.3g ms", ns / 1e6);
  } else {
    snprintf(text, sizeof(text), ns < 999.5e9 ? "%.3g s" : "%.0f s", ns / 1e9);
  }
  return text;
}
inline std::string TimeText(uint64_t ns) { return TimeText(static_cast<double>(ns)); }

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_SENTENCE_H_
