#include "streams.h"

#include <chrono>
#include <thread>

#include "../control.h"

namespace coll::doubles {

std::atomic<long> stream_count{0};
std::atomic<long> event_count{0};

}  // namespace coll::doubles

namespace coll::cuda {
namespace {

int longest_delay() {
  static const int micros = doubles::from_environment("COLL_DOUBLE_DELAY_MICROS", 0);
  return micros;
}

}  // namespace

StreamRecord::StreamRecord(int owner) : device(owner), delays(static_cast<unsigned>(owner + 1)) {
  std::thread([this] { run(); }).detach();
}

void StreamRecord::put(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex);
  tasks.push_back(std::move(task));
  changed.notify_all();
}

void StreamRecord::run() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return !tasks.empty(); });
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    is_busy = true;
    lock.unlock();
    if (longest_delay() > 0) {
      std::uniform_int_distribution<int> micros(0, longest_delay());
      std::this_thread::sleep_for(std::chrono::microseconds(micros(delays)));
    }
    task();
    task = nullptr;
    lock.lock();
    is_busy = false;
    changed.notify_all();
  }
}

}  // namespace coll::cuda
