// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/contexts.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/config/config.h"
#include "base/files.h"
#include "base/status_macros.h"

namespace copse::ctl {
namespace {

constexpr char kContexts[] = "contexts";
constexpr char kCurrent[] = "context";
constexpr char kSuffix[] = ".yaml";
constexpr size_t kNameBytesMax = 255;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

config::Config ContextKeys() {
  using config::Type;
  return config::Config(
      "context",
      {{.name = "endpoint", .comment = "The planner's address, or several's."},
       {.name = "token_file", .comment = "Holds the token that the server asks for."},
       {.name = "cert", .comment = "This user's certificate, PEM."},
       {.name = "key", .comment = "Its private key."},
       {.name = "cacert", .comment = "Authorities that are believed."},
       {.name = "crl_dir", .comment = "Folder with their revocation lists."},
       {.name = "insecure", .type = Type::kBool, .default_text = "false", .comment = "Plain text beyond this host."}});
}

}  // namespace

ContextFolders ContextFolders::OfThisUser() {
  std::vector<std::string> folders;
  if (const std::string config = Variable("XDG_CONFIG_HOME"); !config.empty()) {
    folders.push_back(config + "/copse");
  } else if (const std::string home = Variable("HOME"); !home.empty()) {
    folders.push_back(home + "/.config/copse");
  }
  folders.push_back("/etc/copse");
  return ContextFolders(std::move(folders));
}

std::map<std::string, std::string> ContextFolders::Files() const {
  std::map<std::string, std::string> files;
  for (const std::string& folder : folders_) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / kContexts, error)) {
      if (entry.path().extension() == kSuffix) files.emplace(entry.path().stem(), entry.path());
    }
  }
  return files;
}

std::string ContextFolders::Current() const {
  for (const std::string& folder : folders_) {
    std::optional<std::string> name = ReadFile(absl::StrCat(folder, "/", kCurrent), kNameBytesMax);
    if (!name.has_value()) continue;
    absl::StripAsciiWhitespace(&*name);
    if (!name->empty()) return *name;
  }
  return "";
}

absl::StatusOr<std::string> ContextFolders::FileOf(const std::string& name) const {
  const std::map<std::string, std::string> files = Files();
  const auto file = files.find(name);
  if (file != files.end()) return file->second;
  const auto name_of = [](std::string* out, const auto& known) { absl::StrAppend(out, known.first); };
  return absl::NotFoundError(absl::StrCat("no such context (context=", name,
                                          ", known=", absl::StrJoin(files, ",", name_of),
                                          ", folders=", absl::StrJoin(folders_, ","), ")"));
}

absl::StatusOr<Context> ContextFolders::Read(const std::string& name) const {
  ASSIGN_OR_RETURN(const std::string file, FileOf(name));
  config::Config keys = ContextKeys();
  RETURN_IF_ERROR(
      keys.Load({.file = file, .file_required = true, .environment = std::map<std::string, std::string>()}));
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const auto path = [&](const char* key) {
    const std::string& text = keys.Text(key);
    return text.empty() ? text : (folder / text).string();
  };
  return Context{.endpoint = keys.Text("endpoint"),
                 .token_file = path("token_file"),
                 .tls = {.certificate = path("cert"),
                         .key = path("key"),
                         .authorities = path("cacert"),
                         .revoked = path("crl_dir")},
                 .insecure = keys.Bool("insecure")};
}

absl::Status ContextFolders::Use(const std::string& name) const {
  RETURN_IF_ERROR(FileOf(name).status());
  std::error_code error;
  std::filesystem::create_directories(folders_.front(), error);
  const std::string path = absl::StrCat(folders_.front(), "/", kCurrent);
  if (WriteFile(path, name + "\n")) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the current context cannot be written: ", std::strerror(errno), " (file=", path, ")"));
}

}  // namespace copse::ctl
