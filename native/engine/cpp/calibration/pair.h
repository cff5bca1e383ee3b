#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "../threads/waiting.h"

namespace coll {

// The calling thread and a second one, which do the same work at the same time on two cores.
class Pair {
 public:
  Pair() : thread_([this] { serve(); }) {}
  ~Pair() {
    begin(nullptr, nullptr);
    thread_.join();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Calls work(0) in this thread and work(1) in the other one, and returns when both are done.
  template <class Work>
  void run(Work& work) {
    begin([](void* context) { (*static_cast<Work*>(context))(1); }, &work);
    work(0);
    spin_until(kSpins, [this] { return done_.load(std::memory_order_acquire) == turn_.load(std::memory_order_relaxed); });
  }

 private:
  // Takes some milliseconds.
  static constexpr int kSpins = 100'000;

  void begin(void (*work)(void*), void* context) {
    work_ = work;
    context_ = context;
    turn_.fetch_add(1, std::memory_order_release);
  }

  void serve() {
    if (current_core() == core_) leave_core(core_);
    for (std::uint32_t turn = 1;; ++turn) {
      spin_until(kSpins, [&] { return turn_.load(std::memory_order_acquire) == turn; });
      if (work_ == nullptr) return;
      work_(context_);
      done_.store(turn, std::memory_order_release);
    }
  }

  const int core_ = current_core();
  void (*work_)(void*) = nullptr;
  void* context_ = nullptr;
  std::atomic<std::uint32_t> turn_{0};
  std::atomic<std::uint32_t> done_{0};
  // Declared last, because the thread uses the other members.
  std::thread thread_;
};

}  // namespace coll
