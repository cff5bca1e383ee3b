#include "library.h"

#include "dynamic_linking.h"

namespace coll {

void* find_symbol(const Library& library, const char* name) { return dlsym(library.handle, name); }

void identify(Library& library, const char* symbol) {
  void* const address = find_symbol(library, symbol);
  Dl_info info{};
  if (address != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr) library.path = info.dli_fname;
  library.is_double = library.handle != RTLD_DEFAULT && find_symbol(library, "coll_is_test_double") != nullptr;
}

}  // namespace coll
