// SPDX-License-Identifier: Apache-2.0
#include "client/run/job_authority.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/certificates/x509.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace copse::run {
namespace {

constexpr size_t kSecretBytes = 32;
constexpr long kDaySeconds = 24 * 60 * 60;
// Clocks of nodes may differ, and jobs last.
constexpr long kFromSeconds = -kDaySeconds, kUntilSeconds = 400 * kDaySeconds;
constexpr char kAuthority[] = "Copse authority of a job";

using x509::Certificate;
using Key = x509::PrivateKey;

template <typename Write>
std::string Pem(Write write) {
  const x509::Bio memory(BIO_new(BIO_s_mem()));
  CHECK(memory != nullptr && write(memory.get()) == 1);
  std::string text(BIO_ctrl_pending(memory.get()), '\0');
  CHECK(BIO_read(memory.get(), text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size()));
  return text;
}

void AddExtension(X509* certificate, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  CHECK(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

void SetName(X509_NAME* name, const std::string& text) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1,
                             0);
}

// Returns a certificate that is not signed yet.
Certificate Draft(const std::string& subject, EVP_PKEY* key, const std::string& constraints, const std::string& usage) {
  Certificate certificate(X509_new());
  CHECK(certificate != nullptr && X509_set_version(certificate.get(), 2) == 1);
  int64_t serial = 0;
  CHECK(getrandom(&serial, sizeof(serial), 0) == sizeof(serial));
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), static_cast<uint64_t>(serial) >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), kFromSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kUntilSeconds);
  X509_set_pubkey(certificate.get(), key);
  SetName(X509_get_subject_name(certificate.get()), subject);
  SetName(X509_get_issuer_name(certificate.get()), kAuthority);
  AddExtension(certificate.get(), NID_basic_constraints, constraints);
  AddExtension(certificate.get(), NID_key_usage, usage);
  return certificate;
}

std::string Signed(X509* certificate, EVP_PKEY* authority) {
  CHECK(X509_sign(certificate, authority, nullptr) > 0);  // Ed25519 has a hash of its own
  return Pem([certificate](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

// Returns a file in memory, for programs that inherit it.
absl::StatusOr<UniqueFd> MemoryFile(const std::string& name, const std::string& text) {
  UniqueFd file(memfd_create(name.c_str(), 0));
  if (file.valid() && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fchmod(file.get(), 0400) == 0) {
    return file;
  }
  return absl::UnavailableError(absl::StrCat("a file in memory: ", std::strerror(errno)));
}

std::string PathOf(const UniqueFd& file) { return absl::StrCat("/proc/self/fd/", file.get()); }

}  // namespace

absl::StatusOr<std::string> NewJobSecret() {
  std::array<char, kSecretBytes> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != kSecretBytes) {
    return absl::UnavailableError(absl::StrCat("getrandom: ", std::strerror(errno)));
  }
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

std::vector<std::string> JobIdentity::settings() const {
  return {"tls_cert=" + PathOf(certificate), "tls_key=" + PathOf(key), "tls_ca=" + PathOf(authority)};
}

absl::StatusOr<JobIdentity> MakeJobIdentity(const std::string& secret, const std::string& role,
                                            const std::string& name) {
  if (secret.size() != 2 * kSecretBytes || secret.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("the job's secret is none (digits=", secret.size(), ", limit=", 2 * kSecretBytes, ")"));
  }
  const auto is_plain = [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_plain)) {
    return absl::InvalidArgumentError(absl::StrCat(role, ": not a name of letters, digits and -._ (name=", name, ")"));
  }
  // What a launch would wait for, and no certificate needs.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
                          OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS,
                      nullptr);
  const std::string seed = absl::HexStringToBytes(secret);
  const Key authority(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                                   reinterpret_cast<const unsigned char*>(seed.data()), seed.size()));
  const Key own(EVP_EC_gen("P-256"));
  CHECK(authority != nullptr && own != nullptr);
  const Certificate root = Draft(kAuthority, authority.get(), "critical,CA:TRUE", "critical,keyCertSign,cRLSign");
  const Certificate leaf =
      Draft(absl::StrCat(role, " ", name), own.get(), "critical,CA:FALSE", "critical,digitalSignature");
  AddExtension(leaf.get(), NID_subject_alt_name, absl::StrCat("URI:spiffe://copse-run/", role, "/", name));
  JobIdentity identity;
  ASSIGN_OR_RETURN(identity.certificate, MemoryFile("cert.pem", Signed(leaf.get(), authority.get())));
  ASSIGN_OR_RETURN(identity.authority, MemoryFile("ca.pem", Signed(root.get(), authority.get())));
  ASSIGN_OR_RETURN(identity.key, MemoryFile("key.pem", Pem([&own](BIO* out) {
                                              return PEM_write_bio_PrivateKey(out, own.get(), nullptr, nullptr, 0,
                                                                              nullptr, nullptr);
                                            })));
  return identity;
}

}  // namespace copse::run
