#pragma once

#include <string>

namespace coll {

// A shared library, opened and never closed: those we open have threads of their own.
struct Library {
  void* handle = nullptr;
  // How it was found, and the file that it is.
  std::string how;
  std::string path;
  // One of the test doubles in cpp/doubles.
  bool is_double = false;
};

// Null where there is none.
void* find_symbol(const Library& library, const char* name);

// Fills in `path` and `is_double`, from a symbol that the library has.
void identify(Library& library, const char* symbol);

// Keeps the library that this is compiled into: Node unloads an addon with the last thread that has loaded it, our own threads in it or not.
void stay_loaded();

// Sets a function pointer to a symbol; remembers in `missing` the first that is not there.
template <class Function>
void bind(const Library& library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(find_symbol(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

}  // namespace coll
