#include "affinity.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace simulator {

// Replaces sched_setaffinity and pthread_setaffinity_np.
static int pinNothing(uintptr_t, size_t, const void *) { return 0; }

static bool pins(const char *name) {
  return !strcmp(name, "sched_setaffinity") || !strcmp(name, "pthread_setaffinity_np");
}

// The dynamic linker makes the page read-only after relocation (RELRO). The page stays writable afterwards.
static void overwrite(uintptr_t place, uintptr_t value) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = place & ~(page - 1);
  if (mprotect((void *)first, page, PROT_READ | PROT_WRITE)) return;
  *(uintptr_t *)place = value;
}

static void redirect(uintptr_t base, const ElfW(Rela) *entries, size_t size, const ElfW(Sym) *symbols,
                     const char *names) {
  for (size_t i = 0; entries && i < size / sizeof *entries; ++i) {
    const auto type = ELF64_R_TYPE(entries[i].r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    if (pins(names + symbols[ELF64_R_SYM(entries[i].r_info)].st_name))
      overwrite(base + entries[i].r_offset, (uintptr_t)pinNothing);
  }
}

void leaveThreadsUnpinned(void *library) {
  auto *map = (const link_map *)library;  // a glibc handle points to a link_map
  const ElfW(Sym) *symbols = nullptr;
  const char *names = nullptr;
  const ElfW(Rela) *slots = nullptr, *data = nullptr;
  size_t slotBytes = 0, dataBytes = 0;
  for (auto *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) switch (entry->d_tag) {
      case DT_SYMTAB: symbols = (const ElfW(Sym) *)entry->d_un.d_ptr; break;
      case DT_STRTAB: names = (const char *)entry->d_un.d_ptr; break;
      case DT_JMPREL: slots = (const ElfW(Rela) *)entry->d_un.d_ptr; break;
      case DT_PLTRELSZ: slotBytes = entry->d_un.d_val; break;
      case DT_RELA: data = (const ElfW(Rela) *)entry->d_un.d_ptr; break;
      case DT_RELASZ: dataBytes = entry->d_un.d_val; break;
    }
  if (!symbols || !names) return;
  redirect(map->l_addr, slots, slotBytes, symbols, names);
  redirect(map->l_addr, data, dataBytes, symbols, names);
}

}  // namespace simulator
