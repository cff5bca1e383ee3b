// Gloo's ring all-reduce over loopback TCP, with one process per rank. The ranks find each other through files in the folder
// BENCH_STORE.
#include "trial.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <memory>

namespace {

using Reduction = void (*)(void *, const void *, const void *, size_t);

template <typename T>
void run(void *library, const T *from, T *into, size_t count, Reduction reduction) {
  gloo::AllreduceOptions options(*static_cast<std::shared_ptr<gloo::Context> *>(library));
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  if (from != into) options.setInput(const_cast<T *>(from), count);
  options.setOutput(into, count);
  options.setReduceFunction(reduction);
  gloo::allreduce(options);
}

void all_reduce(void *library, const float *from, float *into, size_t count) {
  run(library, from, into, count, static_cast<Reduction>(&gloo::sum<float>));
}

void agree(void *library, double *values, int count) {
  run(library, values, values, static_cast<size_t>(count), static_cast<Reduction>(&gloo::max<double>));
}

const char *required(const char *name) {
  const char *value = std::getenv(name);
  if (value != nullptr) return value;
  std::fprintf(stderr, "%s is not set\n", name);
  std::exit(2);
}

}  // namespace

int main(int argc, char **argv) {
  const int rank = std::atoi(required("BENCH_RANK"));
  const int ranks = std::atoi(required("BENCH_RANKS"));
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  gloo::rendezvous::FileStore store(required("BENCH_STORE"));
  auto connected = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  connected->connectFullMesh(store, device);
  std::shared_ptr<gloo::Context> context = connected;
  const Peer peer = {rank, ranks, 1, &context, all_reduce, agree};
  return run_trials(&peer, argc, argv);
}
