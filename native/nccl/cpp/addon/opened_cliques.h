#pragma once

#include <memory>
#include <vector>

#include "../communicators/clique.h"

namespace coll {

// The communicators that one JavaScript thread has opened and not closed. Used on that thread.
class OpenedCliques {
 public:
  void add(const std::shared_ptr<Clique>& clique);
  // Aborts the communicators, so that other ranks are not left waiting, and waits until that is
  // done. Does nothing on the main thread: there, the process ends and takes all communicators with
  // it.
  void end();

 private:
  std::vector<std::shared_ptr<Clique>> cliques_;
};

}  // namespace coll
