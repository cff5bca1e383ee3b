#pragma once

#include <string>

namespace coll {

// A shared library. It is never closed, because it has threads of its own.
struct Library {
  void* handle = nullptr;
  // How it was found; then its file.
  std::string how;
  std::string path;
  // One of the test doubles in cpp/doubles.
  bool is_double = false;
};

// The address of a symbol; null if the library has none of this name.
void* find_symbol(const Library& library, const char* name);

// Sets `path` and `is_double`, by a symbol of the library.
void identify(Library& library, const char* symbol);

// Keeps this addon loaded: Node would unload it with the last thread that has loaded it, even while
// its own threads run.
void stay_loaded();

// Sets a function pointer to a symbol. Stores the first missing symbol in `missing`.
template <class Function>
void bind(const Library& library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(find_symbol(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

}  // namespace coll
