// Streams and events of the driver double.
#include <algorithm>

#include "../control.h"
#include "../exported.h"
#include "current.h"
#include "streams.h"

using namespace coll::cuda;
using coll::doubles::current;
using coll::doubles::refusal;

COLL_EXPORT Result cuStreamCreateWithPriority(Stream* stream, unsigned, int) {
  if (const Result refused = refusal("cuStreamCreateWithPriority")) return refused;
  *stream = new StreamRecord(current->device);
  ++coll::doubles::stream_count;
  return kSuccess;
}

COLL_EXPORT Result cuStreamSynchronize(Stream stream) {
  stream->wait();
  return kSuccess;
}

COLL_EXPORT Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  if (const Result refused = refusal("cuStreamWaitEvent")) return refused;
  if (stream == nullptr || event == nullptr) return kInvalidHandle;
  std::uint64_t wanted = 0;
  {
    const std::lock_guard<std::mutex> lock(event->mutex);
    wanted = event->recorded;
  }
  stream->put([event, wanted] {
    std::unique_lock<std::mutex> lock(event->mutex);
    event->changed.wait(lock, [event, wanted] { return event->passed >= wanted; });
  });
  return kSuccess;
}

COLL_EXPORT Result cuEventCreate(Event* event, unsigned) {
  if (const Result refused = refusal("cuEventCreate")) return refused;
  *event = new EventRecord;
  (*event)->device = current->device;
  ++coll::doubles::event_count;
  return kSuccess;
}

COLL_EXPORT Result cuEventRecord(Event event, Stream stream) {
  if (const Result refused = refusal("cuEventRecord")) return refused;
  if (event == nullptr || stream == nullptr || event->device != stream->device) return kInvalidHandle;
  std::uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(event->mutex);
    number = ++event->recorded;
  }
  stream->put([event, number] {
    const std::lock_guard<std::mutex> lock(event->mutex);
    // A stream that is late reaches an older record.
    event->passed = std::max(event->passed, number);
    event->changed.notify_all();
  });
  return kSuccess;
}

COLL_EXPORT Result cuEventQuery(Event event) {
  if (const Result refused = refusal("cuEventQuery")) return refused;
  const std::lock_guard<std::mutex> lock(event->mutex);
  return event->passed >= event->recorded ? kSuccess : kNotReady;
}

COLL_EXPORT Result cuEventDestroy_v2(Event event) {
  delete event;
  --coll::doubles::event_count;
  return kSuccess;
}
