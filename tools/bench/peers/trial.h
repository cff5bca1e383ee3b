// Times another library's all-reduce as measurement.ts times coll's. The program of each library provides the Peer.
//
//   PROGRAM WARMUP_MILLIS SAMPLE_MILLIS MIN_SAMPLES MAX_SAMPLES TRIAL...
//
// A trial such as `still:in:1024` or `fresh:out:1000,2048000` has the kind of inputs, the place of the output, and the lengths of
// float32 tensors, which are summed over the ranks one call after the other. Rank 0 prints a line of JSON per trial.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct Peer {
  int rank;
  int ranks;
  // Whether a call computes the sum over the ranks, which is then checked.
  int sums;
  void *library;
  // Sums over the ranks. If `from` equals `into`, the sum is in place.
  void (*all_reduce)(void *library, const float *from, float *into, size_t count);
  // Computes the elementwise maximum over the ranks, in place. No rank returns before all have called it.
  void (*agree)(void *library, double *values, int count);
};

struct Effort {
  double warmup_micros;
  double sample_micros;
  double min_samples;
  double max_samples;
};

struct Trial {
  const struct Peer *peer;
  int is_fresh;
  size_t tensors;
  size_t *counts;
  size_t elements;
  float *input;
  float *output;
};

static const double kBatchMicros = 1000;
static const double kMaxBatch = 10000;

static double now_micros(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static const size_t kPeriod = 7;
static const size_t kWritten = 7 * 256;

static float contribution(int rank, size_t index) { return (float)(index % kPeriod + 1) * (float)(rank + 1); }

static void rewrite(const struct Trial *trial) {
  float *values = trial->input;
  const size_t all = trial->elements;
  const size_t first = all < kWritten ? all : kWritten;
  for (size_t i = 0; i < first; ++i) values[i] = contribution(trial->peer->rank, i);
  for (size_t done = first; done < all; done += first)
    memcpy(values + done, values, (all - done < first ? all - done : first) * sizeof *values);
}

static int is_sum(const struct Trial *trial) {
  const float ranks = (float)trial->peer->ranks;
  for (size_t i = 0; i < trial->elements; ++i)
    if (trial->output[i] != contribution(0, i) * ranks * (ranks + 1) / 2) return 0;
  return 1;
}

static void call(const struct Trial *trial) {
  const float *from = trial->input;
  float *into = trial->output;
  for (size_t i = 0; i < trial->tensors; ++i) {
    trial->peer->all_reduce(trial->peer->library, from, into, trial->counts[i]);
    from += trial->counts[i];
    into += trial->counts[i];
  }
}

// The microseconds per call of a batch.
static double take(const struct Trial *trial, int batch) {
  double nothing = 0;
  if (trial->is_fresh) {
    rewrite(trial);
    trial->peer->agree(trial->peer->library, &nothing, 1);
  }
  const double begin = now_micros();
  for (int i = 0; i < batch; ++i) call(trial);
  const double taken = now_micros() - begin;
  // A rank must not rewrite its input while a rank on the same core is still in its call.
  if (trial->is_fresh) trial->peer->agree(trial->peer->library, &nothing, 1);
  return taken / batch;
}

// Calls until the time is over. Returns the microseconds per call of the last batch, including its overhead.
static double warm_up(const struct Trial *trial, double micros) {
  for (int calls = 1;; calls *= 2) {
    const double begin = now_micros();
    if (trial->is_fresh)
      for (int i = 0; i < calls; ++i) take(trial, 1);
    else
      take(trial, calls);
    double elapsed = now_micros() - begin;
    trial->peer->agree(trial->peer->library, &elapsed, 1);
    if (elapsed >= micros / 2) return elapsed / calls;
  }
}

static int clamp(double value, double least, double most) {
  return (int)(value < least ? least : value > most ? most : value + 0.5);
}

static void measure(const struct Trial *trial, const struct Effort *effort) {
  const struct Peer *peer = trial->peer;
  rewrite(trial);
  call(trial);
  double wrong = peer->sums && !is_sum(trial);
  peer->agree(peer->library, &wrong, 1);
  const double call_micros = warm_up(trial, effort->warmup_micros);
  const int batch = trial->is_fresh ? 1 : clamp(kBatchMicros / call_micros, 1, kMaxBatch);
  const int count = clamp(effort->sample_micros / (batch * call_micros), effort->min_samples, effort->max_samples);
  double *samples = (double *)malloc((size_t)count * sizeof *samples);
  for (int i = 0; i < count; ++i) samples[i] = take(trial, batch);
  peer->agree(peer->library, samples, count);
  if (peer->rank == 0) {
    printf("{\"ok\":%s,\"samples\":[", wrong == 0 ? "true" : "false");
    for (int i = 0; i < count; ++i) printf("%s%.4f", i == 0 ? "" : ",", samples[i]);
    printf("]}\n");
    fflush(stdout);
  }
  free(samples);
}

static float *allocate(size_t elements) {
  void *memory = NULL;
  if (posix_memalign(&memory, 4096, elements * sizeof(float)) != 0) exit(1);
  return (float *)memory;
}

static void run_trial(const struct Peer *peer, const struct Effort *effort, const char *text) {
  struct Trial trial = {peer, strncmp(text, "fresh:", 6) == 0, 0, NULL, 0, NULL, NULL};
  trial.counts = (size_t *)malloc((strlen(text) + 1) * sizeof *trial.counts);
  const char *place = strchr(text, ':') + 1;
  for (const char *at = strpbrk(place, ":,"); at != NULL; at = strpbrk(at + 1, ":,")) {
    trial.counts[trial.tensors] = strtoull(at + 1, NULL, 10);
    trial.elements += trial.counts[trial.tensors++];
  }
  const int in_place = strncmp(place, "in:", 3) == 0;
  trial.input = allocate(trial.elements);
  trial.output = in_place ? trial.input : allocate(trial.elements);
  measure(&trial, effort);
  if (!in_place) free(trial.output);
  free(trial.input);
  free(trial.counts);
}

static int run_trials(const struct Peer *peer, int argc, char **argv) {
  if (argc < 5) return 2;
  const struct Effort effort = {atof(argv[1]) * 1000, atof(argv[2]) * 1000, atof(argv[3]), atof(argv[4])};
  for (int i = 5; i < argc; ++i) run_trial(peer, &effort, argv[i]);
  return 0;
}
