// SPDX-License-Identifier: Apache-2.0
#include "testbed/netns/user_place.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "testbed/processes/programs.h"

namespace copse::netns {
namespace {

constexpr char kEnter[] = "testbed/netns/copse-enter";
constexpr char kMpichFinalize[] = "testbed/netns/libmpich_finalize.so";
constexpr unsigned kForAll = 0755, kAsRoot = 04755, kForOwner = 0700;

std::string NameOf(const std::string& label) { return std::filesystem::path(label).filename().string(); }

}  // namespace

absl::StatusOr<std::unique_ptr<UserPlace>> UserPlace::Create(const TestNetwork& network,
                                                             const std::map<std::string, std::string>& programs) {
  RETURN_IF_ERROR(CheckNamespaces(false));
  std::string folder = "/tmp/copse-user-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return absl::ErrnoToStatus(errno, folder);
  std::unique_ptr<UserPlace> place(new UserPlace(network, folder));
  if (chown(folder.c_str(), uid(), uid()) != 0) return absl::ErrnoToStatus(errno, folder);
  RETURN_IF_ERROR(place->Copy(kEnter, "", kAsRoot));
  RETURN_IF_ERROR(place->Copy(kMpichFinalize, "", kForAll));
  for (const auto& [program, into] : programs) RETURN_IF_ERROR(place->Copy(program, into, kForAll));
  const std::string shell = folder + "/rsh";
  std::ofstream(shell) << "#!/bin/sh\nexec '" << folder << "/copse-enter' --table '" << network.node_table()
                       << "' \"$@\"\n";
  if (chmod(shell.c_str(), kForAll) != 0) return absl::ErrnoToStatus(errno, shell);
  return place;
}

UserPlace::~UserPlace() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

MpiPlace UserPlace::place() const {
  MpiPlace place = PlaceOn(network_, folder_);
  for (const std::string& word :
       {std::string("/usr/bin/env"), std::string("-C"), folder_, "HOME=" + folder_, "TMPDIR=" + folder_,
        std::string("/usr/bin/setpriv"), absl::StrCat("--reuid=", uid()), absl::StrCat("--regid=", uid()),
        std::string("--clear-groups"), std::string("--pdeathsig=KILL")}) {
    place.enter.push_back(word);
  }
  place.remote_shell = folder_ + "/rsh";
  place.mpich_finalize = absl::StrCat(folder_, "/", NameOf(kMpichFinalize));
  return place;
}

absl::StatusOr<std::string> UserPlace::MakeFolder(const std::string& name) const {
  std::string path = absl::StrCat(folder_, "/", name);
  if (mkdir(path.c_str(), kForOwner) != 0 || chown(path.c_str(), uid(), uid()) != 0) {
    return absl::ErrnoToStatus(errno, path);
  }
  return path;
}

absl::Status UserPlace::Copy(const std::string& program, const std::string& into, unsigned mode) const {
  ASSIGN_OR_RETURN(const std::string from, procs::FindProgram(program));
  const std::filesystem::path to = std::filesystem::path(folder_) / into / NameOf(program);
  std::error_code error;
  std::filesystem::create_directories(to.parent_path(), error);
  std::filesystem::copy_file(from, to, error);
  if (error) return absl::InternalError(absl::StrCat("copy: ", error.message(), " (file=", to.string(), ")"));
  return chmod(to.c_str(), mode) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, to.string());
}

}  // namespace copse::netns
