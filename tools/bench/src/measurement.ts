import { availableParallelism } from 'node:os';
import { meanOf } from './statistics.js';
import { checkFirstCall, type Subject } from './subjects/subject.js';
import { Ticking, type Ticks } from './ticking.js';
import { describeTrial, type InputKind, type Trial } from './trial.js';

/** The time that a trial takes in each round. */
export interface Effort {
  readonly warmupMillis: number;
  readonly sampleMillis: number;
  readonly minSamples: number;
  readonly maxSamples: number;
  /** Whether the results of the first call are checked. */
  readonly checks: boolean;
}

/** The figures of a trial: for each sample, the microseconds per call on the slowest rank. */
export interface Measurement {
  /** Empty if the trial failed. */
  readonly samples: Float64Array;
  /**
   * Mean microseconds per call over the whole loop of the slowest rank, including garbage collection.
   * Undefined if the trial failed.
   */
  readonly meanMicros?: number;
  /** The timers that fired during the calls; undefined if they were not counted. */
  readonly ticks?: Ticks;
  /** The reason, if there are no samples. */
  readonly failure?: string;
}

const batchMillis = 1;
const maxBatch = 10_000;
// Calls are slow until V8 has compiled them. For the longest path, that takes some ten thousand calls and, while ranks
// keep all cores busy, a few hundred milliseconds. Calls that take long get fewer warm-up calls.
const warmUpCalls = 8192;
const warmUpPatience = 5;
const leastWarmUpCalls = 32;
const longestWarmUpPatience = 20;
// With more ranks than cores, V8 compiles for each rank on shared cores.
const mostRanksPerCore = 10;
// A share of late timers needs more calls than a median.
const tickingFactor = 15;

/**
 * Measures a subject together with the other ranks, which agree on the number of calls. A sample is the
 * time of a batch of successive calls, divided by its length. With fresh inputs, a sample is a single call:
 * all ranks rewrite their inputs before it, and wait for each other before the next rewrite.
 * @throws WrongResultError
 */
export async function measure(subject: Subject, trial: Trial, effort: Effort): Promise<Measurement> {
  const { input, first } = trial;
  if (first !== undefined) return measureFirst(subject, trial, first, effort.checks);
  if (effort.checks) await checkFirstCall(subject, describeTrial(trial));
  const take = takerOf(subject, input);
  const ranksPerCore = Math.min(Math.max(trial.ranks / availableParallelism(), 1), mostRanksPerCore);
  const callMicros = await warmUp(subject, take, input, effort.warmupMillis, ranksPerCore);
  const batch = input === 'fresh' ? 1 : clamp((batchMillis * 1000) / callMicros, 1, maxBatch);
  const isTicking = trial.work.type === 'ticking';
  const wanted = (effort.sampleMillis * 1000 * (isTicking ? tickingFactor : 1)) / (batch * callMicros);
  const ticking = isTicking ? new Ticking() : undefined;
  const samples = await collect(take, batch, clamp(wanted, effort.minSamples, effort.maxSamples));
  const ticks = ticking?.end();
  // The mean of this rank's samples. The mean of the maxima would add up the disturbances of all ranks.
  const maxima = Float64Array.of(...samples, meanOf(samples));
  await subject.agree(maxima);
  const figures = { samples: maxima.subarray(0, -1), meanMicros: maxima.at(-1) as number };
  return ticks ? { ...figures, ticks: await agreeOnTicks(subject, ticks) } : figures;
}

/** The mean of the first calls of a process, as the only sample. @throws WrongResultError */
async function measureFirst(subject: Subject, trial: Trial, first: number, checks: boolean): Promise<Measurement> {
  // All ranks have started.
  await subject.agree(new Float64Array(1));
  const means = Float64Array.of(await (subject.isSync ? timeSync(subject, first) : time(subject, first)));
  await subject.agree(means);
  if (checks) await checkFirstCall(subject, describeTrial(trial));
  return { samples: means, meanMicros: means[0] as number };
}

/** The figures of the thread with the latest timers. */
async function agreeOnTicks(subject: Subject, { count, onTimeShare, worstMillis }: Ticks): Promise<Ticks> {
  const maxima = Float64Array.of(1 - onTimeShare, worstMillis);
  await subject.agree(maxima);
  return { count, onTimeShare: 1 - (maxima[0] as number), worstMillis: maxima[1] as number };
}

/** Takes a sample: the microseconds per call of a batch. */
type Taker = (batch: number) => number | Promise<number>;

function takerOf(subject: Subject, input: InputKind): Taker {
  if (input === 'still') return subject.isSync ? (batch) => timeSync(subject, batch) : (batch) => time(subject, batch);
  const nothing = new Float64Array(1);
  if (!subject.isSync) {
    return async () => {
      subject.rewrite();
      await subject.agree(nothing);
      const taken = await time(subject, 1);
      await subject.agree(nothing);
      return taken;
    };
  }
  return () => {
    subject.rewrite();
    subject.agree(nothing);
    const taken = timeSync(subject, 1);
    subject.agree(nothing);
    return taken;
  };
}

function timeSync(subject: Subject, batch: number): number {
  const begin = performance.now();
  for (let call = 0; call < batch; call++) subject.call();
  return ((performance.now() - begin) * 1000) / batch;
}

async function time(subject: Subject, batch: number): Promise<number> {
  const begin = performance.now();
  for (let call = 0; call < batch; call++) await subject.call();
  return ((performance.now() - begin) * 1000) / batch;
}

/**
 * Warms up: calls more and more at a time until the time is over, and at last several thousand calls,
 * unless that takes too long.
 * @returns the microseconds per call of the last batch, including its overhead
 */
async function warmUp(
  subject: Subject,
  take: Taker,
  input: InputKind,
  millis: number,
  ranksPerCore: number,
): Promise<number> {
  const elapsed = new Float64Array(1);
  for (let calls = 1; ; calls *= 2) {
    const begin = performance.now();
    if (input === 'still') await take(calls);
    else await collect(take, 1, calls);
    elapsed[0] = performance.now() - begin;
    await subject.agree(elapsed);
    const patience = calls >= leastWarmUpCalls ? warmUpPatience : longestWarmUpPatience;
    const isCompiled = calls >= warmUpCalls || elapsed[0] >= millis * patience * ranksPerCore;
    if (elapsed[0] >= millis / 2 && isCompiled) return (elapsed[0] * 1000) / calls;
  }
}

async function collect(take: Taker, batch: number, count: number): Promise<Float64Array> {
  const samples = new Float64Array(count);
  for (let sample = 0; sample < count; sample++) {
    const taken = take(batch);
    samples[sample] = typeof taken === 'number' ? taken : await taken;
  }
  return samples;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(value)));
}
