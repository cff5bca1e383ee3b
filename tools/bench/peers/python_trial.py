"""Times the all-reduce of a Python library, as trial.h times the all-reduce of a C library.

PYTHON mpi4py_trial.py|torch_trial.py WARMUP_MILLIS SAMPLE_MILLIS MIN_SAMPLES MAX_SAMPLES TRIAL...

A trial is `still:in:1024` or `fresh:out:1000,2048000`: the lengths of the float32 arrays that are summed over the ranks, in place
or into other arrays, one call after the other. Rank 0 prints a line of JSON for each. The sample of `still:in:1024:100` is the mean
of the first 100 calls.
"""

import json
import sys
from time import perf_counter

import numpy

BATCH_MICROS = 1000
MAX_BATCH = 10000
PERIOD = 7


class Library:
    """The library of a program, as one rank uses it."""

    def __init__(self, rank, ranks, agree, call_of):
        self.rank = rank
        self.ranks = ranks
        # Computes the elementwise maximum of an array over the ranks, in place. No rank returns before all have called
        # it.
        self.agree = agree
        # Makes the function that sums an input over the ranks into an output. If the input is None, the output is also
        # the input.
        self.call_of = call_of


class Trial:
    def __init__(self, library, text):
        self.library = library
        kind, place, lengths, *first = text.split(":")
        self.first = int(first[0]) if first else None
        self.is_fresh = kind == "fresh"
        self.counts = [int(length) for length in lengths.split(",")]
        self.inputs = [numpy.zeros(count, numpy.float32) for count in self.counts]
        self.outputs = self.inputs if place == "in" else [numpy.zeros(count, numpy.float32) for count in self.counts]
        # The pattern continues across all arrays.
        pattern = (numpy.arange(sum(self.counts)) % PERIOD + 1).astype(numpy.float32)
        self.patterns = numpy.split(pattern, numpy.cumsum(self.counts)[:-1])
        senders = [None] * len(self.counts) if place == "in" else self.inputs
        self.calls = [library.call_of(*arrays) for arrays in zip(senders, self.outputs)]

    def rewrite(self):
        for array, pattern in zip(self.inputs, self.patterns):
            numpy.multiply(pattern, self.library.rank + 1, out=array)

    def is_sum(self):
        ranks = self.library.ranks
        total = ranks * (ranks + 1) // 2
        return all(numpy.array_equal(array, pattern * total) for array, pattern in zip(self.outputs, self.patterns))

    def call(self):
        for call in self.calls:
            call()

    def take(self, batch):
        """Returns the microseconds per call of a batch."""
        nothing = numpy.zeros(1)
        if self.is_fresh:
            self.rewrite()
            self.library.agree(nothing)
        begin = perf_counter()
        for _ in range(batch):
            self.call()
        taken = perf_counter() - begin
        # A rank must not rewrite its input while a rank on the same core is still in its call.
        if self.is_fresh:
            self.library.agree(nothing)
        return taken * 1e6 / batch

    def warm_up(self, micros):
        """Calls until the time is over. Returns the microseconds per call of the last batch, including its overhead."""
        calls = 1
        while True:
            begin = perf_counter()
            if self.is_fresh:
                for _ in range(calls):
                    self.take(1)
            else:
                self.take(calls)
            elapsed = numpy.array([(perf_counter() - begin) * 1e6])
            self.library.agree(elapsed)
            if elapsed[0] >= micros / 2:
                return elapsed[0] / calls
            calls *= 2


def clamp(value, least, most):
    return int(min(most, max(least, round(value))))


def measure(library, trial, warmup_micros, sample_micros, min_samples, max_samples):
    if trial.first:
        # All ranks have started.
        library.agree(numpy.zeros(1))
        samples = numpy.array([trial.take(trial.first)])
    trial.rewrite()
    trial.call()
    wrong = numpy.array([0.0 if trial.is_sum() else 1.0])
    library.agree(wrong)
    if not trial.first:
        samples = samples_of(library, trial, warmup_micros, sample_micros, min_samples, max_samples)
    library.agree(samples)
    if library.rank == 0:
        line = {"ok": bool(wrong[0] == 0), "samples": [round(sample, 4) for sample in samples.tolist()]}
        print(json.dumps(line), flush=True)


def samples_of(library, trial, warmup_micros, sample_micros, min_samples, max_samples):
    call_micros = trial.warm_up(warmup_micros)
    batch = 1 if trial.is_fresh else clamp(BATCH_MICROS / call_micros, 1, MAX_BATCH)
    count = clamp(sample_micros / (batch * call_micros), min_samples, max_samples)
    return numpy.array([trial.take(batch) for _ in range(count)])


def main(library):
    warmup_millis, sample_millis, min_samples, max_samples = (float(text) for text in sys.argv[1:5])
    for text in sys.argv[5:]:
        measure(library, Trial(library, text), warmup_millis * 1000, sample_millis * 1000, min_samples, max_samples)
