// SPDX-License-Identifier: Apache-2.0
//
// Files that users take for a library.
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "client/run/library_file.h"
#include "client/run/small_library.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {

std::vector<std::string> Seeds() { return {run::SmallLibrary("wanted"), run::SmallLibrary("another")}; }

void OneInput(std::string_view bytes) {
  static const std::string own = run::OwnHeader();
  const bool is_it = run::FaultOfLibrary(bytes, own, "wanted") == run::LibraryFault::kNone;
  CHECK(!is_it || bytes.find("wanted") != std::string_view::npos);
}

}  // namespace copse::fuzzing
