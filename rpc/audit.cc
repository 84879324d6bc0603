// SPDX-License-Identifier: Apache-2.0
#include "rpc/audit.h"

#include <google/protobuf/text_format.h>
#include <systemd/sd-journal.h>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/process/journal_stream.h"

namespace copse::rpc {
namespace {

constexpr size_t kRequestCharactersMax = 256;
constexpr size_t kRequestBytesMax = 4096;  // longer ones are not written as text at all

// A file's content is nobody's business but its reader's: it may be a key that was given by mistake.
class WithoutContents : public google::protobuf::TextFormat::FastFieldValuePrinter {
 public:
  void PrintBytes(const std::string& value, google::protobuf::TextFormat::BaseTextGenerator* out) const override {
    out->PrintString(absl::StrCat("(", value.size(), " bytes)"));
  }
};

std::string ResultOf(const absl::Status& result) {
  return result.ok() ? "OK" : absl::StatusCodeToString(result.code());
}

}  // namespace

std::string DescribeRequest(const google::protobuf::Message& request) {
  const size_t bytes = request.ByteSizeLong();
  if (bytes > kRequestBytesMax) return absl::StrCat("(", bytes, " bytes)");
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetDefaultFieldValuePrinter(new WithoutContents);  // the printer's from now on
  std::string text;
  printer.PrintToString(request, &text);
  if (!text.empty() && text.back() == ' ') text.pop_back();
  if (text.size() <= kRequestCharactersMax) return text;
  return absl::StrCat(text.substr(0, kRequestCharactersMax), "... (", bytes, " bytes)");
}

std::string FormatAudit(const AuditRecord& record) {
  return absl::StrCat("audit: ", record.who, " has called ", record.method, " {", record.request, "}",
                      record.result.ok() ? "" : ": ", record.result.message(), " (from=", record.from,
                      ", result=", ResultOf(record.result),
                      ", duration_ms=", absl::ToInt64Milliseconds(record.duration), ")");
}

AuditWriter::AuditWriter(const std::string& log_file) : to_journal_(log_file.empty() && StderrIsJournal()) {}

void AuditWriter::Write(const AuditRecord& record) const {
  const std::string line = FormatAudit(record);
  if (to_journal_) {
    sd_journal_send("PRIORITY=5", "MESSAGE=%s", line.c_str(), "COPSE_AUDIT=1", "COPSE_WHO=%s", record.who.c_str(),
                    "COPSE_FROM=%s", record.from.c_str(), "COPSE_METHOD=%s", record.method.c_str(), "COPSE_RESULT=%s",
                    ResultOf(record.result).c_str(), nullptr);
  } else {
    WriteLog(LogLevel::kInfo, line);  // whatever log_level says
  }
}

}  // namespace copse::rpc
