#include "opened_cliques.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "../tuning.h"
#include "../work/runtime.h"

namespace coll {

void OpenedCliques::add(const std::shared_ptr<Clique>& clique) {
  {
    const std::lock_guard<std::mutex> lock(the_runtime().scheduler.mutex());
    const auto is_over = [](const std::shared_ptr<Clique>& opened) { return opened->state == CliqueState::kClosed || opened->state == CliqueState::kFailed; };
    cliques_.erase(std::remove_if(cliques_.begin(), cliques_.end(), is_over), cliques_.end());
  }
  cliques_.push_back(clique);
}

void OpenedCliques::end() {
  if (cliques_.empty() || syscall(SYS_gettid) == getpid()) return;
  const Failure failure{FailureKind::kAborted, 0, "the thread that opened it has ended"};
  // Fails all cliques before waiting for any, since their ends may wait for each other.
  for (const std::shared_ptr<Clique>& clique : cliques_) the_runtime().scheduler.fail_clique(*clique, failure);
  for (const std::shared_ptr<Clique>& clique : cliques_) clique->wait_for_aborts(tuning::kLongestAbort);
  cliques_.clear();
}

}  // namespace coll
