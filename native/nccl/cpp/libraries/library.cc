#include "library.h"

#include "../../../engine/cpp/linux/dynamic_linking.h"

namespace coll {

void* find_symbol(const Library& library, const char* name) { return dlsym(library.handle, name); }

void identify(Library& library, const char* symbol) {
  void* const address = find_symbol(library, symbol);
  Dl_info info{};
  if (address != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr) library.path = info.dli_fname;
  // Opens a library that the process has loaded already, so that its symbols are searched alone.
  void* const itself = library.handle == RTLD_DEFAULT ? dlopen(library.path.c_str(), RTLD_NOW | RTLD_NOLOAD) : library.handle;
  library.is_double = itself != nullptr && dlsym(itself, "coll_is_test_double") != nullptr;
}

void stay_loaded() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&stay_loaded), &info) == 0 || info.dli_fname == nullptr) return;
  dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace coll
