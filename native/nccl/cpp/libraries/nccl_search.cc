#include "nccl_search.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "../error.h"
#include "../../../engine/cpp/linux/dynamic_linking.h"

namespace coll::nccl {
namespace {

constexpr const char* kFile = "libnccl.so.2";
constexpr const char* kAdvice = "install libnccl2 or the Python package nvidia-nccl-cu12, or set COLL_NCCL_LIBRARY to the library or its folder";

std::string from_environment(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

// Uses statx(), because glibc exports stat() only since 2.33.
bool examine(const std::string& path, struct statx& found) {
  return statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID, &found) == 0;
}

bool is_folder(const std::string& path) {
  struct statx found {};
  return examine(path, found) && S_ISDIR(found.stx_mode);
}

// Escapes characters that glob() would take for a pattern.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char character : path) {
    if (std::strchr("*?[\\", character) != nullptr) text += '\\';
    text += character;
  }
  return text;
}

// The NCCL libraries in a folder of libraries or of Python packages, or below an installation
// prefix such as a Python environment.
std::vector<std::string> libraries_in(const std::string& folder) {
  static constexpr const char* kPlaces[] = {"", "lib/", "nvidia/nccl/lib/", "lib*/python3*/site-packages/nvidia/nccl/lib/", "lib*/python3*/dist-packages/nvidia/nccl/lib/"};
  std::vector<std::string> files;
  for (const char* place : kPlaces) {
    glob_t found{};
    if (glob((escaped(folder) + "/" + place + kFile).c_str(), 0, nullptr, &found) == 0) files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
  }
  return files;
}

std::string resolved(const std::string& path) {
  char whole[PATH_MAX];
  return realpath(path.c_str(), whole) == nullptr ? "" : whole;
}

// Why a file that the user has not selected is not loaded: another user, except root, could have
// put it there. Empty if it can be loaded.
std::string distrust(const std::string& file) {
  for (std::string path = file; !path.empty(); path.resize(path.rfind('/'))) {
    struct statx found {};
    if (!examine(path, found)) return path + " cannot be inspected";
    if (found.stx_uid != 0 && found.stx_uid != geteuid()) return path + " belongs to another user";
    if ((found.stx_mode & S_ISVTX) != 0) continue;
    if ((found.stx_mode & S_IWOTH) != 0) return "any user can write to " + path;
    // Accepts files that the user's own group can write: many systems give every user a group of
    // their own.
    const bool is_own_group = found.stx_gid == 0 || found.stx_gid == getegid();
    if ((found.stx_mode & S_IWGRP) != 0 && !is_own_group) return "another group can write to " + path;
  }
  return "";
}

class Search {
 public:
  Library library;

  const std::string& failures() const { return failures_; }

  bool opens(const std::string& file, const char* how, int flags = 0) {
    library.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    library.how = how;
    library.path = file;
    if (library.handle != nullptr) return true;
    const char* const said = dlerror();
    if (flags == 0) note(said != nullptr ? said : file);
    return false;
  }

  // In a folder that the user has not selected, no library is opened if another user could have put
  // it there.
  bool opens_in(const std::string& folder, const char* how, bool is_asked) {
    if (folder.empty()) return false;
    const std::vector<std::string> files = libraries_in(folder);
    if (files.empty()) note("none in " + folder);
    for (const std::string& file : files) {
      const std::string found = is_asked ? file : resolved(file);
      if (found.empty()) {
        note(file + " is a broken link");
        continue;
      }
      const std::string why_not = is_asked ? "" : distrust(found);
      if (!why_not.empty()) note(file + " is not loaded unless requested, because " + why_not);
      else if (opens(found, how)) return true;
    }
    return false;
  }

 private:
  void note(const std::string& failure) { failures_ += (failures_.empty() ? "" : "; ") + failure; }

  std::string failures_;
};

Library named(const std::string& path, const char* how) {
  Search search;
  if (is_folder(path)) {
    if (search.opens_in(path, how, true)) return search.library;
    if (!libraries_in(path).empty()) throw Error(FailureKind::kNoLibrary, std::string("cannot open the NCCL library given by ") + how + ": " + search.failures());
    throw Error(FailureKind::kNoLibrary, std::string(how) + " is the folder " + path + ", which has no " + kFile +
                                             "; searched the folder itself, lib, nvidia/nccl/lib, and nvidia/nccl/lib of lib*/python3*/site-packages and dist-packages");
  }
  if (search.opens(path, how)) return search.library;
  throw Error(FailureKind::kNoLibrary, std::string("cannot open the NCCL library given by ") + how + ": " + search.failures());
}

}  // namespace

Surroundings Surroundings::of_process() {
  Surroundings here;
  here.virtual_environment = from_environment("VIRTUAL_ENV");
  here.conda = from_environment("CONDA_PREFIX");
  here.home = from_environment("HOME");
  here.folder = resolved(".");
  return here;
}

Library find_library(const Choice& choice, const Surroundings& surroundings) {
  if (!choice.environment.empty()) return named(choice.environment, "COLL_NCCL_LIBRARY");
  if (!choice.program.empty()) return named(choice.program, "libraryPath");
  Search search;
  // Profilers and replacements are loaded by LD_PRELOAD; a handle would bypass them.
  if (dlsym(RTLD_DEFAULT, kProof) != nullptr) {
    search.library.handle = RTLD_DEFAULT;
    search.library.how = "process";
    return search.library;
  }
  const auto& [virtual_environment, conda, home, folder, prefixes] = surroundings;
  if (search.opens(kFile, "loaded", RTLD_NOLOAD) || search.opens(kFile, "system")) return search.library;
  if (search.opens_in(virtual_environment, "VIRTUAL_ENV", true) || search.opens_in(conda, "CONDA_PREFIX", true)) return search.library;
  if (!home.empty() && search.opens_in(home + "/.local", "user packages", false)) return search.library;
  for (const std::string& prefix : prefixes) {
    if (search.opens_in(prefix, "system packages", false)) return search.library;
  }
  for (const char* environment : {"/.venv", "/venv"}) {
    if (!folder.empty() && search.opens_in(folder + environment, kInCurrentFolder, false)) return search.library;
  }
  throw Error(FailureKind::kNoLibrary, "NCCL is not installed: " + search.failures() + "; " + kAdvice);
}

bool is_named_by(const Library& library, const std::string& path) {
  const std::string real = resolved(library.path);
  for (const std::string& file : is_folder(path) ? libraries_in(path) : std::vector<std::string>{path}) {
    if (!real.empty() && resolved(file) == real) return true;
  }
  return false;
}

}  // namespace coll::nccl
