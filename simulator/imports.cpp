#include "imports.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace simulator {

// The dynamic linker makes the page read-only after relocation (RELRO). The page stays writable afterwards.
static void overwrite(uintptr_t place, uintptr_t value) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = place & ~(page - 1);
  if (mprotect((void *)first, page, PROT_READ | PROT_WRITE)) return;
  *(uintptr_t *)place = value;
}

// The imported functions of a loaded library.
struct Imports {
  uintptr_t base;
  const ElfW(Sym) *symbols = nullptr;
  const char *names = nullptr;
  const ElfW(Rela) *slots = nullptr, *data = nullptr;
  size_t slotBytes = 0, dataBytes = 0;

  explicit Imports(const link_map *map) : base(map->l_addr) {
    for (auto *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) switch (entry->d_tag) {
        case DT_SYMTAB: symbols = (const ElfW(Sym) *)entry->d_un.d_ptr; break;
        case DT_STRTAB: names = (const char *)entry->d_un.d_ptr; break;
        case DT_JMPREL: slots = (const ElfW(Rela) *)entry->d_un.d_ptr; break;
        case DT_PLTRELSZ: slotBytes = entry->d_un.d_val; break;
        case DT_RELA: data = (const ElfW(Rela) *)entry->d_un.d_ptr; break;
        case DT_RELASZ: dataBytes = entry->d_un.d_val; break;
      }
  }

  void redirect(const ElfW(Rela) *entries, size_t size, const char *name, uintptr_t function) const {
    for (size_t i = 0; entries && i < size / sizeof *entries; ++i) {
      const auto type = ELF64_R_TYPE(entries[i].r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      if (!strcmp(names + symbols[ELF64_R_SYM(entries[i].r_info)].st_name, name))
        overwrite(base + entries[i].r_offset, function);
    }
  }
};

void redirectCalls(void *library, const char *name, void *function) {
  const Imports imports((const link_map *)library);  // a glibc handle points to a link_map
  if (!imports.symbols || !imports.names) return;
  imports.redirect(imports.slots, imports.slotBytes, name, (uintptr_t)function);
  imports.redirect(imports.data, imports.dataBytes, name, (uintptr_t)function);
}

}  // namespace simulator
