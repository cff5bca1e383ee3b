#include "helper_thread.h"

#include "../tuning.h"
#include "waiting.h"

namespace coll {
namespace {

enum State : std::uint32_t { kIdle, kReserved, kOffered, kWorking };
constexpr std::uint32_t kStates = 4;
// No ticket: the thread ends.
constexpr std::uint32_t kEnded = 0xffffffff;

State state_of(std::uint32_t word) { return static_cast<State>(word % kStates); }

std::uint32_t with_state(std::uint32_t word, State state) { return word / kStates * kStates + state; }

// The ticket after that of `word`; never 0 and never that of kEnded.
std::uint32_t next_ticket(std::uint32_t word) {
  const std::uint32_t next = with_state(word + kStates, kIdle);
  return next == 0 || next == with_state(kEnded, kIdle) ? kStates : next;
}

}  // namespace

HelperThread::HelperThread() : thread_([this] { run(); }) {}

HelperThread::~HelperThread() {
  word_.store(kEnded);
  unpark(word_);
  thread_.join();
}

std::uint32_t HelperThread::reserve() {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  if (state_of(word) != kIdle) return 0;
  const std::uint32_t ticket = next_ticket(word);
  return word_.compare_exchange_strong(word, with_state(ticket, kReserved), std::memory_order_acquire) ? ticket : 0;
}

void HelperThread::offer(std::uint32_t ticket, Job& job, int worker) {
  job_ = &job;
  worker_ = worker;
  // Sequentially consistent, as in run(): either this thread sees that the helper sleeps, or the
  // helper sees the offer before it sleeps.
  word_.store(with_state(ticket, kOffered));
  if (is_asleep_.load()) unpark(word_);
}

bool HelperThread::withdraw(std::uint32_t ticket) {
  std::uint32_t word = with_state(ticket, kOffered);
  if (word_.compare_exchange_strong(word, with_state(ticket, kIdle))) return false;
  // The helper may already have a job of another owner, whose ticket differs.
  spin_until(tuning::kHelperSpins, [&] { return word_.load(std::memory_order_acquire) != with_state(ticket, kWorking); });
  return true;
}

void HelperThread::run() {
  for (;;) {
    std::uint32_t word = word_.load();
    for (int spin = 0; spin < tuning::kHelperSpins && state_of(word) != kOffered && word != kEnded; ++spin) {
      pause();
      word = word_.load(std::memory_order_acquire);
    }
    if (word == kEnded) return;
    if (state_of(word) == kOffered) {
      if (!word_.compare_exchange_strong(word, with_state(word, kWorking))) continue;
      leave_core_of_owner();
      job_->work(worker_);
      word_.store(with_state(word, kIdle), std::memory_order_release);
      continue;
    }
    is_asleep_.store(true);
    word = word_.load();
    if (state_of(word) != kOffered && word != kEnded) park(word_, word, tuning::kHelperSleepMillis);
    is_asleep_.store(false);
  }
}

// Leaves the core of the owner: systems wake a thread on the core of the waking thread, which it
// would keep from working, call after call.
void HelperThread::leave_core_of_owner() {
  const int core = current_core();
  if (core < 0 || core != job_->core()) return;
  const auto now = Clock::now();
  if (now - moved_ < tuning::kLeastStay) return;
  moved_ = now;
  leave_core(core);
}

}  // namespace coll
