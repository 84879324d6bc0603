// SPDX-License-Identifier: Apache-2.0
#include "base/certificates/x509.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace copse::x509 {

Bio Reader(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

Certificate ReadCertificate(BIO* reader) {
  Certificate certificate(PEM_read_bio_X509(reader, nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

RevocationList ReadRevocationList(BIO* reader) {
  RevocationList list(PEM_read_bio_X509_CRL(reader, nullptr, nullptr, nullptr));
  ERR_clear_error();
  return list;
}

PrivateKey ReadPrivateKey(const std::string& text) {
  return PrivateKey(PEM_read_bio_PrivateKey(Reader(text).get(), nullptr, nullptr, nullptr));
}

int AddAuthorities(X509_STORE* store, const std::string& text) {
  const Bio reader = Reader(text);
  int added = 0;
  while (const Certificate next = ReadCertificate(reader.get())) added += X509_STORE_add_cert(store, next.get());
  return added;
}

namespace {

// Believes authorities without a list.
int AllowMissingListOfAuthority(int valid, X509_STORE_CTX* context) {
  const bool allowed = valid == 0 && X509_STORE_CTX_get_error(context) == X509_V_ERR_UNABLE_TO_GET_CRL &&
                       X509_STORE_CTX_get_error_depth(context) > 0;
  if (allowed) X509_STORE_CTX_set_error(context, X509_V_OK);
  return allowed ? 1 : valid;
}

}  // namespace

int AddRevocationLists(X509_STORE* store, const std::string& text) {
  const Bio reader = Reader(text);
  int added = 0;
  while (const RevocationList next = ReadRevocationList(reader.get())) added += X509_STORE_add_crl(store, next.get());
  if (added > 0) X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  X509_STORE_set_verify_cb(store, &AllowMissingListOfAuthority);
  return added;
}

std::string UriOf(const X509* certificate) {
  const GeneralNames names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::string found;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    if (!found.empty()) return "";
    const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
    found.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                 static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  return found;
}

}  // namespace copse::x509
