#pragma once

#include <memory>
#include <vector>

#include "../communicators/clique.h"

namespace coll {

// The communicators that one JavaScript thread has opened and not closed. Used on that thread.
class OpenedCliques {
 public:
  void add(const std::shared_ptr<Clique>& clique);
  // Aborts them, so that the other ranks are not left waiting, and waits until that is done. The end of the process takes all along by itself: on
  // the main thread it does nothing.
  void end();

 private:
  std::vector<std::shared_ptr<Clique>> cliques_;
};

}  // namespace coll
