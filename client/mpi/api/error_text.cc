// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/api/error_text.h"

#include <cstdio>
#include <mutex>
#include <string>

#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {
namespace {

// Texts holds the text of the latest failure of each error class (MPICH only). It is never destroyed, so the order of
// exit handlers does not matter.
struct Texts {
  std::mutex mutex;
  std::map<int, std::string> by_class;
};
[[maybe_unused]] Texts& TheTexts() {
  static auto* const texts = new Texts;
  return *texts;
}

}  // namespace

#ifdef OPEN_MPI

int CodeOfText(int error_class, const char* text, std::map<int, int>* codes) {
  const auto [it, is_new] = codes->try_emplace(error_class, error_class);
  if (is_new && Mpi().Add_error_code(error_class, &it->second) != MPI_SUCCESS) it->second = error_class;
  if (it->second == error_class) return error_class;
  char string[MPI_MAX_ERROR_STRING];
  snprintf(string, sizeof(string), "%s", text);
  Mpi().Add_error_string(it->second, string);
  return it->second;
}

int Error_string(int code, char* string, int* length) { return Mpi().Error_string(code, string, length); }

#else

int CodeOfText(int error_class, const char* text, std::map<int, int>*) {
  const std::lock_guard lock(TheTexts().mutex);
  TheTexts().by_class[error_class] = text;
  return error_class;
}

int Error_string(int code, char* string, int* length) {
  if (string != nullptr && length != nullptr) {
    const std::lock_guard lock(TheTexts().mutex);
    const auto found = TheTexts().by_class.find(code);
    if (found != TheTexts().by_class.end()) {
      snprintf(string, MPI_MAX_ERROR_STRING, "%s", found->second.c_str());
      *length = static_cast<int>(std::char_traits<char>::length(string));
      return MPI_SUCCESS;
    }
  }
  return Mpi().Error_string(code, string, length);
}

#endif

}  // namespace copse::mpi
