// SPDX-License-Identifier: Apache-2.0
#include "client/run/library_file.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::run {
namespace {

// Only libcopse-mpi.so exports this symbol.
constexpr char kMarker[] = "copse_preload_set_memory_hooks";
// The texts are indexed by LibraryFault.
constexpr std::string_view kFaults[] = {"", "not a shared library", "for another kind of machine",
                                        "a shared library that is cut off", "another library than libcopse-mpi.so"};
// Every build of the library is shorter than this limit.
constexpr uint64_t kFileBytesMax = 64 << 20;

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

// Returns the record at `offset`; nullopt if the file ends before the record does.
template <typename Record>
std::optional<Record> RecordAt(std::string_view file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(Record)) return std::nullopt;
  Record record;
  memcpy(&record, file.data() + offset, sizeof(record));
  return record;
}

std::optional<Section> SectionAt(std::string_view file, const Header& header, uint64_t index) {
  return RecordAt<Section>(file, header.e_shoff + index * sizeof(Section));
}

bool Exports(std::string_view file, const Section& symbols, const Section& names, std::string_view wanted) {
  std::string name(wanted);
  name += '\0';
  for (uint64_t i = 0; i < symbols.sh_size / sizeof(Symbol); ++i) {
    const auto symbol = RecordAt<Symbol>(file, symbols.sh_offset + i * sizeof(Symbol));
    if (!symbol.has_value()) return false;
    const uint64_t at = names.sh_offset + symbol->st_name;
    if (symbol->st_shndx == SHN_UNDEF || at > file.size()) continue;
    if (file.substr(at, name.size()) == name) return true;
  }
  return false;
}

std::string Beginning(const std::string& path, uint64_t bytes) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  std::string text(error ? 0 : std::min(size, bytes), '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

absl::Status Fault(const std::string& path, std::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("library: ", AbslView(what), " (value=", path, ")"));
}

}  // namespace

LibraryFault FaultOfLibrary(std::string_view file, std::string_view own, std::string_view symbol) {
  const auto header = RecordAt<Header>(file, 0), mine = RecordAt<Header>(own, 0);
  if (file.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG)) return LibraryFault::kNoLibrary;
  if (!header.has_value() || !mine.has_value()) return LibraryFault::kCutOff;
  const bool is_same_kind = header->e_ident[EI_CLASS] == mine->e_ident[EI_CLASS] &&
                            header->e_ident[EI_DATA] == mine->e_ident[EI_DATA] && header->e_machine == mine->e_machine;
  if (!is_same_kind) return LibraryFault::kOtherMachine;
  if (header->e_type != ET_DYN) return LibraryFault::kNoLibrary;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto symbols = SectionAt(file, *header, i);
    if (!symbols.has_value()) return LibraryFault::kCutOff;
    if (symbols->sh_type != SHT_DYNSYM) continue;
    const auto names = SectionAt(file, *header, symbols->sh_link);
    if (!names.has_value()) return LibraryFault::kCutOff;
    if (Exports(file, *symbols, *names, symbol)) return LibraryFault::kNone;
    break;  // a library has one such table
  }
  return LibraryFault::kOtherLibrary;
}

absl::Status CheckLibrary(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return Fault(path, strerror(errno));
  if (S_ISDIR(about.st_mode)) return Fault(path, "a directory");
  if (!S_ISREG(about.st_mode)) return Fault(path, "not a file");
  if (access(path.c_str(), R_OK) != 0) return Fault(path, strerror(errno));
  const std::string own = Beginning("/proc/self/exe", sizeof(Header)), file = Beginning(path, kFileBytesMax + 1);
  if (file.size() > kFileBytesMax) return Fault(path, "longer than any libcopse-mpi.so");
  const LibraryFault fault = FaultOfLibrary(file, own, kMarker);
  return fault == LibraryFault::kNone ? absl::OkStatus() : Fault(path, kFaults[static_cast<size_t>(fault)]);
}

}  // namespace copse::run
