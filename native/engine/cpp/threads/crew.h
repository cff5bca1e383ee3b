#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace coll {

// Threads that help their owner with work that falls into parts. They start when they are first needed, look around for a moment
// after each shift and then sleep; the destructor ends them.
class Crew {
 public:
  // What is to be done: `work(context, worker, begin, end)` for ranges that cover 0 to `count`, in units of `unit`.
  struct Shift {
    void (*work)(void* context, int worker, std::size_t begin, std::size_t end);
    void* context;
    std::size_t count;
    std::size_t unit;
  };

  explicit Crew(int helpers);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // The owner is worker 0, its helpers are 1 to `helpers`.
  int workers() const { return helpers_ + 1; }
  // Returns when all is done. The caller takes part, and does everything if no helper comes in time.
  void run(const Shift& shift);

 private:
  // A share of the work; who has finished its own helps with the others'.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  void start();
  void help(int worker);
  void work(int worker);

  const int helpers_;
  Shift shift_{};
  std::unique_ptr<Share[]> shares_;
  // A helper says that it is in before it looks whether the shift is open; the owner closes it before it looks who is in.
  // Both are sequentially consistent: whoever is late finds the shift closed and touches nothing.
  alignas(64) std::atomic<std::uint32_t> open_{0};  // the number of the shift, 0 between shifts
  alignas(64) std::atomic<std::uint32_t> latest_{0};
  alignas(64) std::atomic<std::uint32_t> inside_{0};
  std::atomic<std::uint32_t> parked_{0};
  std::atomic<bool> has_ended_{false};
  std::vector<std::thread> threads_;
};

}  // namespace coll
