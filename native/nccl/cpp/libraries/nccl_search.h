#pragma once

#include <string>
#include <vector>

#include "library.h"

namespace coll::nccl {

// The NCCL that the user has selected: a file, or a folder to search. Empty if none is selected;
// the environment has priority.
struct Choice {
  std::string environment;
  std::string program;
};

// The surroundings of a search.
struct Surroundings {
  std::string virtual_environment;
  std::string conda;
  std::string home;
  std::string folder;
  std::vector<std::string> prefixes = {"/usr/local", "/usr"};

  static Surroundings of_process();
};

constexpr const char* kInCurrentFolder = "current folder";
// A symbol that every NCCL has.
constexpr const char* kProof = "ncclGetVersion";

// The first NCCL that opens, in the order of the documentation. Throws an Error of one sentence that lists the places.
Library find_library(const Choice& choice, const Surroundings& surroundings);

// Whether the library is the one that this file or folder names.
bool is_named_by(const Library& library, const std::string& path);

}  // namespace coll::nccl
