#include "runtime/process/import_slots.hpp"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

#if defined(__x86_64__)
constexpr bool is_import(std::uint64_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}
#elif defined(__aarch64__)
constexpr bool is_import(std::uint64_t type) {
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}
#else
constexpr bool is_import(std::uint64_t) {
  return false;
}
#endif

struct redirection {
  std::uintptr_t inside = 0;
  const char* name = nullptr;
  void* function = nullptr;
  std::size_t changed = 0;
};

// A loaded library, as its program headers describe it.
class loaded_library {
 public:
  explicit loaded_library(const dl_phdr_info& info)
      : base_(info.dlpi_addr), headers_(info.dlpi_phdr), count_(info.dlpi_phnum) {}

  bool contains(std::uintptr_t address) const { return find(PT_LOAD, address) != nullptr; }

  std::size_t redirect(const redirection& wanted) {
    read_tables();
    return redirect_in(calls_, wanted) + redirect_in(data_, wanted);
  }

 private:
  struct relocations {
    const ElfW(Rela) * first = nullptr;
    std::size_t bytes = 0;
  };

  const ElfW(Phdr) * find(ElfW(Word) type, std::uintptr_t address) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto begin = base_ + headers_[i].p_vaddr;
      if (headers_[i].p_type == type && address >= begin &&
          address - begin < headers_[i].p_memsz)
        return &headers_[i];
    }
    return nullptr;
  }

  // The C library has added the base to these already, but not on every processor.
  template <class T>
  const T* at(ElfW(Addr) address) const {
    return reinterpret_cast<const T*>(address < base_ ? base_ + address : address);
  }

  void read_tables() {
    for (std::size_t i = 0; i < count_; ++i) {
      if (headers_[i].p_type != PT_DYNAMIC) continue;
      const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base_ + headers_[i].p_vaddr);
      for (; entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
          case DT_SYMTAB:
            symbols_ = at<ElfW(Sym)>(entry->d_un.d_ptr);
            break;
          case DT_STRTAB:
            names_ = at<char>(entry->d_un.d_ptr);
            break;
          case DT_JMPREL:
            calls_.first = at<ElfW(Rela)>(entry->d_un.d_ptr);
            break;
          case DT_PLTRELSZ:
            calls_.bytes = entry->d_un.d_val;
            break;
          case DT_RELA:
            data_.first = at<ElfW(Rela)>(entry->d_un.d_ptr);
            break;
          case DT_RELASZ:
            data_.bytes = entry->d_un.d_val;
            break;
          default:
            break;
        }
      }
    }
  }

  std::size_t redirect_in(const relocations& all, const redirection& wanted) const {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < all.bytes / sizeof(ElfW(Rela)); ++i) {
      const auto& entry = all.first[i];
      if (!is_import(ELF64_R_TYPE(entry.r_info))) continue;
      const auto& symbol = symbols_[ELF64_R_SYM(entry.r_info)];
      if (std::strcmp(names_ + symbol.st_name, wanted.name) != 0) continue;
      write(base_ + entry.r_offset, wanted.function);
      ++changed;
    }
    return changed;
  }

  // Slots of a library that is bound when it is loaded are read-only from then on.
  void write(std::uintptr_t address, void* function) const {
    auto* const slot = reinterpret_cast<void**>(address);
    const bool sealed = find(PT_GNU_RELRO, address) != nullptr;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto* const begin = reinterpret_cast<void*>(address & ~(page - 1));
    if (sealed) protect(begin, page, PROT_READ | PROT_WRITE);
    __atomic_store_n(slot, function, __ATOMIC_RELEASE);
    if (sealed) protect(begin, page, PROT_READ);
  }

  static void protect(void* begin, std::size_t bytes, int allowed) {
    const int outcome = ::mprotect(begin, bytes, allowed);
    TIDEGATE_ASSERT(outcome == 0, "a page of a loaded library can be protected");
  }

  std::uintptr_t base_;
  const ElfW(Phdr) * headers_;
  std::size_t count_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  relocations calls_, data_;
};

int redirect_if_inside(dl_phdr_info* info, std::size_t /*bytes*/, void* data) {
  auto& wanted = *static_cast<redirection*>(data);
  loaded_library library(*info);
  if (!library.contains(wanted.inside)) return 0;
  wanted.changed = library.redirect(wanted);
  return 1;
}

}  // namespace

std::size_t redirect_import(const void* inside, const char* name, void* function) {
  redirection wanted{.inside = reinterpret_cast<std::uintptr_t>(inside),
                     .name = name,
                     .function = function,
                     .changed = 0};
  dl_iterate_phdr(redirect_if_inside, &wanted);
  return wanted.changed;
}

}  // namespace tidegate::runtime
