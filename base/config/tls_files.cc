// SPDX-License-Identifier: Apache-2.0
#include "base/config/tls_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace copse::config {
namespace {

constexpr uintmax_t kFileBytesMax = 1 << 20;

absl::StatusOr<std::string> ReadText(const char* key, const std::string& path) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > kFileBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(key, ": the file is too long (", key, "=", path, ", bytes=", bytes,
                                                   ", limit=", kFileBytesMax, ")"));
  }
  // No buffer but the result holds the text, which may be a key.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(error ? 0 : bytes, '\0');
  size_t filled = 0;
  ssize_t got = file.valid() && !error ? 1 : -1;
  while (got > 0 && filled < text.size()) {
    got = read(file.get(), text.data() + filled, text.size() - filled);
    if (got > 0) filled += static_cast<size_t>(got);
  }
  if (got < 0) {
    return absl::NotFoundError(absl::StrCat(key, ": cannot be read: ", std::strerror(error ? error.value() : errno),
                                            " (", key, "=", path, ")"));
  }
  text.resize(filled);
  return text;
}

absl::Status CheckSecret(const char* key, const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || (status.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)) == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(key, ": others than its owner may read or write it (", key, "=",
                                                    path, ", mode=", absl::StrFormat("%04o", status.st_mode & 0777),
                                                    ", wanted=0600)"));
}

}  // namespace

TlsTexts& TlsTexts::operator=(TlsTexts&& other) noexcept {
  std::swap(certificate, other.certificate);
  std::swap(key, other.key);
  std::swap(authorities, other.authorities);
  std::swap(lists, other.lists);
  return *this;
}

std::string TlsTexts::revoked() const {
  std::string all;
  for (const TlsList& list : lists) absl::StrAppend(&all, list.text, "\n");
  return all;
}

absl::StatusOr<TlsFiles> CompleteTlsFiles(const TlsFiles& files, const std::string& node) {
  const std::pair<const char*, const std::string*> wanted[] = {
      {"tls_cert", &files.certificate}, {"tls_key", &files.key}, {"tls_ca", &files.authorities}};
  const bool any =
      std::any_of(std::begin(wanted), std::end(wanted), [](const auto& each) { return !each.second->empty(); });
  if (!any && !files.revoked.empty())
    return absl::InvalidArgumentError("tls_crl_dir: needs tls_cert, tls_key and tls_ca");
  TlsFiles complete;
  if (!any) return complete;
  for (const auto& [key, path] : wanted) {
    if (path->empty())
      return absl::InvalidArgumentError(
          absl::StrCat(key, ": is missing: tls_cert, tls_key and tls_ca are given together"));
  }
  const auto expanded = [&](const std::string& path) { return absl::StrReplaceAll(path, {{"%h", node}}); };
  return TlsFiles{expanded(files.certificate), expanded(files.key), expanded(files.authorities),
                  expanded(files.revoked)};
}

absl::StatusOr<TlsTexts> ReadTlsFiles(const TlsFiles& files) {
  TlsTexts texts;
  RETURN_IF_ERROR(CheckSecret("tls_key", files.key));
  ASSIGN_OR_RETURN(texts.certificate, ReadText("tls_cert", files.certificate));
  ASSIGN_OR_RETURN(texts.key, ReadText("tls_key", files.key));
  ASSIGN_OR_RETURN(texts.authorities, ReadText("tls_ca", files.authorities));
  if (files.revoked.empty()) return texts;
  std::error_code error;
  std::vector<std::string> lists;
  for (const auto& entry : std::filesystem::directory_iterator(files.revoked, error)) {
    if (entry.is_regular_file()) lists.push_back(entry.path());
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("tls_crl_dir: cannot be read: ", error.message(), " (tls_crl_dir=", files.revoked, ")"));
  }
  std::sort(lists.begin(), lists.end());
  for (const std::string& list : lists) {
    ASSIGN_OR_RETURN(std::string text, ReadText("tls_crl_dir", list));
    texts.lists.push_back({list, std::move(text)});
  }
  return texts;
}

}  // namespace copse::config
