#include "engine.h"

#include <sched.h>

#include <cstdlib>

#include "../../../engine/cpp/linux/older_waiting.h"
#include "../error.h"
#include "host.h"

namespace coll {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The interval at which the idle thread of MPI reads notes and checks whether JavaScript threads
// still own MPI. The thread may be bound to their core, so each check interrupts them.
constexpr microseconds kIdleRest = milliseconds(10);
// The longest time in one native call, so that the JavaScript thread can be ended.
constexpr auto kLongestWait = milliseconds(50);
constexpr auto kOwnershipTime = milliseconds(500);
constexpr auto kOwnershipRest = microseconds(100);
constexpr auto kFlushTime = milliseconds(1000);

}  // namespace

// The ownership of MPI by a JavaScript thread.
class Engine::Claim {
 public:
  explicit Claim(Engine& engine) : engine_(engine) {
    ++engine_.claims_;
    engine_.ownership_.lock();
  }
  ~Claim() {
    const bool has_work = engine_.has_work();
    engine_.ownership_.unlock();
    if (--engine_.claims_ == 0 && has_work) engine_.notify();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // Gives MPI to another JavaScript thread that waits for it.
  void take_turns() {
    if (engine_.claims_ <= 1) return;
    engine_.ownership_.unlock();
    sched_yield();
    engine_.ownership_.lock();
  }

 private:
  Engine& engine_;
};

Engine& Engine::the() {
  static Engine* const engine = new Engine;
  return *engine;
}

Engine::Engine() = default;

const Facts& Engine::load(const std::string& path) {
  const std::lock_guard<std::mutex> lock(loading_);
  if (mpi_) return facts_;
  const Library library = find_mpi_library(path);
  mpi_ = open_mpi(library);
  facts_.abi = mpi_->abi();
  facts_.version = mpi_->version();
  facts_.path = library.path;
  facts_.how = library.how;
  stay_loaded();
  return facts_;
}

void Engine::submit(std::unique_ptr<Task> task) {
  {
    const std::lock_guard<std::mutex> lock(new_tasks_mutex_);
    new_tasks_.push_back(std::move(task));
    has_new_tasks_ = true;
    if (!has_thread_) std::thread([this] { serve(); }).detach();
    has_thread_ = true;
  }
  notify();
}

void Engine::start() {
  if (is_started_) return;
  mpi_->init();
  types_ = std::make_unique<Types>(*mpi_);
  facts_.rank = mpi_->rank(mpi_->world());
  facts_.size = mpi_->size(mpi_->world());
  const Host host = find_host(*mpi_);
  facts_.local_ranks = host.ranks;
  facts_.hosts = find_host_names(*mpi_);
  policy_ = WaitingPolicy::of(host.ranks, host.cores);
  is_started_ = true;
  std::atexit(at_exit);
}

void Engine::serve() {
  Backoff backoff(policy_);
  while (!is_stopped_) {
    if (claims_ > 0) {
      rest(kIdleRest);
      continue;
    }
    bool is_busy = false;
    {
      const std::lock_guard<std::mutex> own(ownership_);
      if (is_stopped_) return;
      is_busy = pass(!is_busy || backoff.is_due());
    }
    if (is_busy) {
      backoff.pause();
    } else {
      backoff = Backoff(policy_);
      rest(kIdleRest);
    }
  }
}

bool Engine::pass(bool is_due) {
  {
    const std::lock_guard<std::mutex> lock(new_tasks_mutex_);
    tasks_.splice(tasks_.end(), new_tasks_);
    has_new_tasks_ = false;
  }
  std::vector<MpiHandle> taken;
  for (auto task = tasks_.begin(); task != tasks_.end();) {
    const MpiHandle comm = (*task)->comm(*this);
    bool is_taken = false;
    for (const MpiHandle other : taken) is_taken = is_taken || other == comm;
    taken.push_back(comm);
    if (is_taken) {
      ++task;
      continue;
    }
    try {
      if (!(*task)->step(*this)) {
        ++task;
        continue;
      }
      (*task)->settle(nullptr);
    } catch (const Error& error) {
      (*task)->settle(&error);
    }
    task = tasks_.erase(task);
  }
  bool is_busy = !tasks_.empty();
  for (const auto& group : groups_) {
    group->step(is_due);
    is_busy = is_busy || group->is_busy();
  }
  if (is_due && !is_stopped_) sweep();
  return is_busy;
}

void Engine::sweep() {
  for (std::size_t i = 0; i < groups_.size();) {
    if (!groups_[i]->can_be_freed() || !groups_[i]->is_over()) {
      ++i;
      continue;
    }
    groups_[i]->free_comms();
    groups_[i] = groups_.back();
    groups_.pop_back();
  }
}

bool Engine::has_work() {
  if (has_new_tasks_ || !tasks_.empty()) return true;
  for (const auto& group : groups_) {
    if (group->is_busy()) return true;
  }
  return false;
}

void Engine::rest(microseconds time) {
  std::unique_lock<std::mutex> lock(resting_);
  notified_.wait_for(lock, time, [this] { return is_notified_; });
  is_notified_ = false;
}

void Engine::notify() {
  {
    const std::lock_guard<std::mutex> lock(resting_);
    is_notified_ = true;
  }
  notified_.notify_one();
}

template <class IsOver>
void Engine::drive(Claim& claim, Group& group, bool may_sleep, IsOver is_over) {
  Backoff backoff(may_sleep ? policy_ : WaitingPolicy{policy_.spins, 1 << 30});
  for (int looks = 1;; ++looks) {
    const bool is_due = looks % 16 == 0;
    group.step(is_due);
    if (group.status() != Status::kPending) return;
    if (is_due) {
      pass(true);
      claim.take_turns();
      if (group.status() != Status::kPending || is_over()) return;
    }
    backoff.pause();
  }
}

Status Engine::begin(Group& group, std::shared_ptr<const Plan> plan, double millis, bool is_checked, int patience_micros) {
  Claim claim(*this);
  group.begin(std::move(plan), millis, is_checked);
  if (patience_micros > 0 && group.status() == Status::kPending) {
    const auto until = Clock::now() + microseconds(patience_micros);
    drive(claim, group, false, [&] { return Clock::now() >= until; });
  }
  if (group.status() == Status::kPending) group.is_awaited = true;
  return group.status();
}

Status Engine::begin_and_wait(Group& group, std::shared_ptr<const Plan> plan, double millis, bool is_checked) {
  Claim claim(*this);
  group.begin(std::move(plan), millis, is_checked);
  if (group.status() != Status::kPending) return group.status();
  const auto until = Clock::now() + kLongestWait;
  drive(claim, group, true, [&] { return Clock::now() >= until; });
  return group.status();
}

Status Engine::wait(Group& group) {
  Claim claim(*this);
  if (group.status() != Status::kPending) return group.status();
  const auto until = Clock::now() + kLongestWait;
  drive(claim, group, true, [&] { return Clock::now() >= until; });
  return group.status();
}

void Engine::own(const std::function<void()>& use) {
  Claim claim(*this);
  use();
}

void Engine::finalize() {
  if (!is_started_ || is_finalized_) return;
  for (const auto& group : groups_) group->leave();
  // Waits for the other ranks here. MPI would wait as well, but without pauses, and would complain
  // about unread notes.
  Backoff backoff(policy_);
  const auto until = Clock::now() + kFlushTime;
  for (bool is_waiting = true; is_waiting; backoff.pause()) {
    is_waiting = false;
    for (const auto& group : groups_) {
      group->step(true);
      // Ranks of a group that has failed may never leave it.
      const bool is_quiet = group->is_over() || (group->failure() && Clock::now() > until);
      is_waiting = is_waiting || !is_quiet;
    }
  }
  stop();
  mpi_->finalize();
  is_finalized_ = true;
}

void Engine::stop() {
  is_stopped_ = true;
  for (const auto& group : groups_) group->cut();
}

bool Engine::finalize_at_exit(double seconds) {
  if (!is_started_ || is_finalized_) return true;
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
  };
  const auto state = std::make_shared<State>();
  submit(finalizing([state](const Error*) {
    const std::lock_guard<std::mutex> lock(state->mutex);
    state->is_done = true;
    state->changed.notify_all();
  }));
  std::unique_lock<std::mutex> lock(state->mutex);
  const auto is_done = [&] { return state->is_done; };
  if (seconds <= 0) {
    state->changed.wait(lock, is_done);
    return true;
  }
  return state->changed.wait_for(lock, microseconds(static_cast<std::int64_t>(seconds * 1e6)), is_done);
}

// Polls instead of using a timed mutex, which needs functions that older distributions lack.
bool Engine::try_to_own() {
  const auto until = Clock::now() + kOwnershipTime;
  while (!ownership_.try_lock()) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(kOwnershipRest);
  }
  return true;
}

void Engine::abort_at_exit(int code) {
  exit_code_ = code;
  // Stops all collectives, because JavaScript's memory may be freed from here on.
  if (!try_to_own()) return;
  stop();
  ownership_.unlock();
}

void Engine::abort(int code) {
  const bool is_owner = try_to_own();
  is_finalized_ = true;
  is_stopped_ = true;
  mpi_->abort(code);
  if (is_owner) ownership_.unlock();
}

void Engine::at_exit() {
  Engine& engine = the();
  if (engine.is_started_ && !engine.is_finalized_) engine.abort(engine.exit_code_);
}

}  // namespace coll
