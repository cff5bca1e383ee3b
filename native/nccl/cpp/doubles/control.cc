#include "control.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace coll::doubles {
namespace {

// Finds the first line that begins with `what` and applies to this rank. `rest`: the words after
// `what`.
bool find(const std::string& what, int rank, std::string& rest) {
  const char* const file = std::getenv("COLL_DOUBLE_CONTROL");
  if (file == nullptr) return false;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t limit = line.find("rank=");
    if (limit != std::string::npos) {
      if (std::atoi(line.c_str() + limit + 5) != rank) continue;
      line.resize(limit);
    }
    if (line.rfind(what, 0) != 0 || (line.size() > what.size() && line[what.size()] != ' ')) continue;
    rest = line.substr(what.size());
    return true;
  }
  return false;
}

}  // namespace

int wish(const std::string& what, int otherwise, int rank) {
  std::string rest;
  return find(what, rank, rest) ? std::atoi(rest.c_str()) : otherwise;
}

bool is_wished(const std::string& what, int rank) {
  std::string rest;
  return find(what, rank, rest);
}

void die_if_wished(const std::string& where, int rank) {
  if (is_wished("die " + where, rank)) std::raise(SIGKILL);
}

void tell_count(const char* what, long count) {
  const char* const file = std::getenv("COLL_DOUBLE_COUNTS");
  if (file != nullptr) std::ofstream(file, std::ios::app) << what << ' ' << count << '\n';
}

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::atoi(text);
}

}  // namespace coll::doubles
