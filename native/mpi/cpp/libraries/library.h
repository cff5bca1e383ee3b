#pragma once

#include <string>

namespace coll {

// A shared library. It is never closed, because it has threads and exit handlers of its own.
struct Library {
  void* handle = nullptr;
  // The reason for its choice, as a phrase; then its file.
  std::string how;
  std::string path;
};

// The address of a symbol; null if the library has none of this name.
void* find_symbol(const Library& library, const char* name);

// Keeps this addon loaded. Node would unload it with the last thread that has loaded it, even while
// the addon's own thread runs.
void stay_loaded();

// The MPI library of this process. `environment` is the value of COLL_MPI_LIB, or empty. Order: that file, a library
// that the process has loaded already, that of the launcher, any other. Throws an Error that lists what was tried.
Library find_mpi_library(const std::string& environment);

}  // namespace coll
