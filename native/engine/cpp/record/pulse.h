#pragma once

#if defined(__linux__)

#include <sys/types.h>
#include <time.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace coll {

// Writes to all records of the process once a second that the process runs, what its threads do,
// and how much memory it uses. A thread does this while there are records. Readers conclude from an
// old pulse that the process has ended or is stopped.
class Pulse {
 public:
  // The pulse of this process. Never destroyed, because its thread may outlive static objects when
  // the process exits.
  static Pulse& of_process();

  // Adds the record of the calling thread, and writes to it at once.
  void add(std::byte* record);
  // Nothing is written to the record after this call.
  void remove(std::byte* record);

 private:
  struct Entry {
    std::byte* record;
    pid_t thread;
    clockid_t cpu_clock;
  };

  void run();
  void write_all();

  // Held while the thread is started or ended.
  std::mutex lifecycle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
  std::thread thread_;
};

}  // namespace coll

#endif
