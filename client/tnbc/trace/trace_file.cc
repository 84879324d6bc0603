// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/trace/trace_file.h"

#include <algorithm>

#include "client/tnbc/trace/record_line.h"

namespace copse::tnbc {
namespace {

constexpr char kWord[] = "copse-trace";
// Limits the fragments of one call. It exceeds the cores of any machine and the segments of any call.
constexpr uint64_t kPartsMax = 1 << 16;

void WritePiece(const TracePiece& piece, std::string* text) {
  RecordWriter line("piece");
  line.Add("offset", piece.offset).Add("bytes", piece.bytes).Add("parts", piece.parts);
  if (piece.there.has_value()) line.Add("there", *piece.there);
  if (piece.touch.has_value()) line.Add("touch", *piece.touch).Add("by", piece.by_call ? "call" : "access");
  if (piece.waited > 0) line.Add("waited", piece.waited);
  *text += line.Finish();
}

// A Reader reads the records of a trace, each of which may refer to those before it.
class Reader {
 public:
  explicit Reader(TraceFile* trace) : trace_(trace) {}

  void Read(RecordReader* record) {
    const std::string& word = record->word();
    if (word != "process" && !has_process_) return record->Fail("before the process");
    if (word == "process") return ReadProcess(record);
    if (word == "site") return ReadSite(record);
    if (word == "kind") return ReadKind(record);
    if (word == "call") return ReadCall(record);
    if (word == "piece") return ReadPiece(record);
    record->Fail("no such record");
  }

 private:
  void ReadProcess(RecordReader* record) {
    if (has_process_) return record->Fail("given twice");
    has_process_ = true;
    trace_->ranks = static_cast<uint32_t>(record->Number("ranks", UINT32_MAX));
    trace_->rank = static_cast<uint32_t>(record->Number("rank", std::max(trace_->ranks, 1U) - 1));
    trace_->host = record->Text("host");
    trace_->pid = record->Number("pid");
    trace_->launch = record->Number("launch");
    trace_->left_out = record->Number("left_out");
  }
  void ReadSite(RecordReader* record) {
    TraceSite site;
    site.object = record->Text("object");
    site.offset = record->Hex("offset");
    site.function = record->Text("function");
    trace_->sites.push_back(std::move(site));
  }
  void ReadKind(RecordReader* record) {
    TraceKind kind;
    kind.communicator = record->Hex("communicator");
    kind.size = static_cast<uint32_t>(record->Number("size", UINT32_MAX));
    kind.rank = static_cast<uint32_t>(record->Number("rank", std::max(kind.size, 1U) - 1));
    kind.collective = record->Text("collective");
    kind.length = static_cast<uint32_t>(record->Number("length", UINT32_MAX));
    trace_->kinds.push_back(std::move(kind));
  }
  void ReadCall(RecordReader* record) {
    TraceCall call;
    call.kind = ReadIndex("kind", trace_->kinds.size(), record);
    call.site = ReadIndex("site", trace_->sites.size(), record);
    call.number = record->Number("number");
    call.early = record->Number("early", 1) != 0;
    call.returned = record->Number("returned");
    call.inside = record->Number("inside");
    call.parts = static_cast<uint32_t>(record->Number("parts", kPartsMax));
    call.order = record->Numbers("order");
    trace_->calls.push_back(std::move(call));
  }
  void ReadPiece(RecordReader* record) {
    if (trace_->calls.empty()) return record->Fail("before any call");
    TraceCall& call = trace_->calls.back();
    TracePiece piece;
    piece.offset = record->Number("offset");
    piece.bytes = record->Number("bytes");
    piece.parts = record->Numbers("parts");
    for (const uint32_t part : piece.parts) {
      if (part >= call.parts) record->Fail("parts: no such part (value=" + std::to_string(part) + ")");
    }
    if (record->Has("there")) piece.there = record->Number("there");
    if (record->Has("touch")) {
      piece.touch = record->Number("touch");
      const std::string by = record->Text("by");
      piece.by_call = by == "call";
      if (!piece.by_call && by != "access") record->Fail("by: neither access nor call (value=" + by + ")");
    }
    if (record->Has("waited")) piece.waited = record->Number("waited");
    call.pieces.push_back(std::move(piece));
  }
  static uint32_t ReadIndex(const std::string& key, size_t count, RecordReader* record) {
    const uint64_t index = record->Number(key, UINT32_MAX);
    if (index >= count) record->Fail(key + ": no such one before (value=" + std::to_string(index) + ")");
    return static_cast<uint32_t>(index);
  }

  TraceFile* const trace_;
  bool has_process_ = false;
};

}  // namespace

std::string FormatTrace(const TraceFile& trace) {
  std::string text = std::string(kWord) + " " + std::to_string(kTraceVersion) + "\n";
  text += RecordWriter("process")
              .Add("rank", trace.rank)
              .Add("ranks", trace.ranks)
              .Add("host", trace.host)
              .Add("pid", trace.pid)
              .Add("launch", trace.launch)
              .Add("left_out", trace.left_out)
              .Finish();
  for (const TraceSite& site : trace.sites) {
    text += RecordWriter("site")
                .Add("object", site.object)
                .AddHex("offset", site.offset)
                .Add("function", site.function)
                .Finish();
  }
  for (const TraceKind& kind : trace.kinds) {
    text += RecordWriter("kind")
                .AddHex("communicator", kind.communicator)
                .Add("size", kind.size)
                .Add("rank", kind.rank)
                .Add("collective", kind.collective)
                .Add("length", kind.length)
                .Finish();
  }
  for (const TraceCall& call : trace.calls) {
    text += RecordWriter("call")
                .Add("kind", call.kind)
                .Add("site", call.site)
                .Add("number", call.number)
                .Add("early", call.early ? 1 : 0)
                .Add("returned", call.returned)
                .Add("inside", call.inside)
                .Add("parts", call.parts)
                .Add("order", call.order)
                .Finish();
    for (const TracePiece& piece : call.pieces) WritePiece(piece, &text);
  }
  return text;
}

std::string ParseTrace(std::string_view text, TraceFile* trace) {
  *trace = TraceFile();
  Reader reader(trace);
  std::string error = ReadRecords(text, kWord, kTraceVersion, [&](RecordReader* record) { reader.Read(record); });
  if (error.empty() && trace->ranks == 0) error = "no process";
  return error;
}

}  // namespace copse::tnbc
