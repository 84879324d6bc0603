// SPDX-License-Identifier: Apache-2.0
//
// Makes the bytes of a small shared library that exports one symbol. For tests.
#ifndef COPSE_CLIENT_RUN_SMALL_LIBRARY_H_
#define COPSE_CLIENT_RUN_SMALL_LIBRARY_H_

#include <elf.h>
#include <link.h>
#include <string.h>

#include <fstream>
#include <string>

namespace copse::run {

// Returns the ELF header of the running program, since its class and machine are valid here.
inline std::string OwnHeader() {
  std::string text(sizeof(ElfW(Ehdr)), '\0');
  std::ifstream("/proc/self/exe", std::ios::binary).read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

// Returns an ELF header, three section headers (null, symbols, names of symbols), two symbols, and their names.
inline std::string SmallLibrary(const std::string& symbol) {
  ElfW(Ehdr) header;
  memcpy(&header, OwnHeader().data(), sizeof(header));
  ElfW(Shdr) sections[3] = {};
  ElfW(Sym) symbols[2] = {};
  std::string names = '\0' + symbol + '\0';
  header.e_type = ET_DYN;
  header.e_shoff = sizeof(header);
  header.e_shnum = 3;
  sections[1].sh_type = SHT_DYNSYM;
  sections[1].sh_link = 2;
  sections[1].sh_offset = sizeof(header) + sizeof(sections);
  sections[1].sh_size = sizeof(symbols);
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sections[1].sh_offset + sizeof(symbols);
  sections[2].sh_size = names.size();
  symbols[1].st_name = 1;
  symbols[1].st_shndx = 1;
  std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
  file.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  file.append(reinterpret_cast<const char*>(symbols), sizeof(symbols));
  return file + names;
}

}  // namespace copse::run

#endif  // COPSE_CLIENT_RUN_SMALL_LIBRARY_H_
