#include "streams.h"

#include <chrono>
#include <thread>
#include <vector>

#include "../control.h"

namespace coll::doubles {

std::atomic<long> stream_count{0};
std::atomic<long> event_count{0};

namespace {

std::mutex streams_mutex;
std::vector<cuda::Stream>& all_streams() {
  static auto* const all = new std::vector<cuda::Stream>;
  return *all;
}

}  // namespace

void wait_for_all_streams() {
  std::vector<cuda::Stream> all;
  {
    const std::lock_guard<std::mutex> lock(streams_mutex);
    all = all_streams();
  }
  for (const cuda::Stream stream : all) stream->wait();
}

}  // namespace coll::doubles

namespace coll::cuda {
namespace {

int longest_delay() {
  static const int micros = doubles::from_environment("COLL_DOUBLE_DELAY_MICROS", 0);
  return micros;
}

}  // namespace

StreamRecord::StreamRecord(int owner) : device(owner), delays(static_cast<unsigned>(owner + 1)) {
  {
    const std::lock_guard<std::mutex> lock(doubles::streams_mutex);
    doubles::all_streams().push_back(this);
  }
  std::thread([this] { run(); }).detach();
}

void StreamRecord::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return tasks.empty() && !is_busy; });
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
