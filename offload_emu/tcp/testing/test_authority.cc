// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/testing/test_authority.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/certificates/x509.h"
#include "base/check.h"

namespace copse::emu {
namespace {

constexpr long kDaySeconds = 24 * 60 * 60;

template <typename Write>
std::string Pem(Write write) {
  BIO* const memory = BIO_new(BIO_s_mem());
  CHECK(memory != nullptr && write(memory) == 1);
  std::string text(BIO_ctrl_pending(memory), '\0');
  CHECK(BIO_read(memory, text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size()));
  BIO_free(memory);
  return text;
}

void AddExtension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  CHECK(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// Returns a certificate without extensions that nobody has signed.
X509* Draft(const std::string& subject, EVP_PKEY* key, long serial, int days) {
  X509* const certificate = X509_new();
  CHECK(certificate != nullptr && X509_set_version(certificate, 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), days < 0 ? 2 * days * kDaySeconds : -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * kDaySeconds);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
  return certificate;
}

std::string PemOf(X509* certificate) {
  return Pem([certificate](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name)
    : key_(EVP_EC_gen("P-256")), certificate_(Draft(name, key_, 1, 10)) {
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  AddExtension(certificate_, certificate_, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate_, certificate_, NID_key_usage, "critical,keyCertSign,cRLSign");
  CHECK(X509_sign(certificate_, key_, EVP_sha256()) > 0);
  certificate_pem_ = PemOf(certificate_);
}

TestAuthority::TestAuthority(const TestCertificate& authority)
    : key_(x509::ReadPrivateKey(authority.key).release()),
      certificate_(x509::ReadCertificate(x509::Reader(authority.certificate).get()).release()),
      certificate_pem_(authority.certificate) {
  CHECK(key_ != nullptr && certificate_ != nullptr);
}

TestAuthority::~TestAuthority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

TestCertificate TestAuthority::Issue(const TestCertificateOptions& options) const {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate =
      Draft(options.is_authority ? "Test intermediate" : "Test node", key, options.serial, options.days);
  if (options.seconds != 0) X509_gmtime_adj(X509_getm_notAfter(certificate), options.seconds);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate_));
  std::string uris = options.uri.empty() ? "" : "URI:" + options.uri;
  if (!options.second_uri.empty()) uris += ",URI:" + options.second_uri;
  if (!uris.empty()) AddExtension(certificate, certificate_, NID_subject_alt_name, uris);
  if (options.is_authority) AddExtension(certificate, certificate_, NID_basic_constraints, "critical,CA:TRUE");
  CHECK(X509_sign(certificate, key_, EVP_sha256()) > 0);
  TestCertificate issued;
  issued.certificate = PemOf(certificate);
  issued.key =
      Pem([key](BIO* out) { return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return issued;
}

std::string TestAuthority::Revoke(const std::vector<long>& serials, int days) const {
  X509_CRL* const list = X509_CRL_new();
  CHECK(list != nullptr && X509_CRL_set_version(list, 1) == 1);
  X509_CRL_set_issuer_name(list, X509_get_subject_name(certificate_));
  ASN1_TIME* const time = ASN1_TIME_new();
  X509_gmtime_adj(time, -60);
  X509_CRL_set1_lastUpdate(list, time);
  for (const long serial : serials) {
    X509_REVOKED* const revoked = X509_REVOKED_new();
    ASN1_INTEGER* const number = ASN1_INTEGER_new();
    ASN1_INTEGER_set(number, serial);
    X509_REVOKED_set_serialNumber(revoked, number);
    X509_REVOKED_set_revocationDate(revoked, time);
    CHECK(X509_CRL_add0_revoked(list, revoked) == 1);
    ASN1_INTEGER_free(number);
  }
  X509_gmtime_adj(time, days * kDaySeconds);
  X509_CRL_set1_nextUpdate(list, time);
  ASN1_TIME_free(time);
  CHECK(X509_CRL_sign(list, key_, EVP_sha256()) > 0);
  const std::string text = Pem([list](BIO* out) { return PEM_write_bio_X509_CRL(out, list); });
  X509_CRL_free(list);
  return text;
}

}  // namespace copse::emu
