import { availableParallelism } from 'node:os';
import { meanOf } from './statistics.js';
import { checkFirstCall, type Subject } from './subjects/subject.js';
import { Ticking, type Ticks } from './ticking.js';
import { describeTrial, type InputKind, type Trial } from './trial.js';

/** How much time goes into a trial, in each round. */
export interface Effort {
  readonly warmupMillis: number;
  readonly sampleMillis: number;
  readonly minSamples: number;
  readonly maxSamples: number;
  /** Whether the results of the first call are looked at. */
  readonly checks: boolean;
}

/** Microseconds a call, the largest over the ranks, one for each sample. */
export interface Measurement {
  /** None if it failed. */
  readonly samples: Float64Array;
  /**
   * Microseconds a call, on average over a rank's whole loop, what the garbage collector took included; the largest over the ranks.
   * None if it failed.
   */
  readonly meanMicros?: number;
  /** Only where timers ticked meanwhile. */
  readonly ticks?: Ticks;
  /** Why there are no samples, for people. */
  readonly failure?: string;
}

const batchMillis = 1;
const maxBatch = 10_000;
// The JavaScript of a call is slow until V8 has compiled it. For the longest path that takes some ten thousand calls, and while the ranks
// keep all cores busy, a few hundred milliseconds; of calls that take long, a few must do.
const warmUpCalls = 8192;
const warmUpPatience = 5;
const leastWarmUpCalls = 32;
const longestWarmUpPatience = 20;
// Ranks that share cores share the time in which V8 compiles for each of them.
const mostRanksPerCore = 10;
// Shares of timers take more of them than medians take calls.
const tickingFactor = 15;

/**
 * Measures what a subject does, together with the other ranks, which do the same: how often is agreed upon. One sample is a batch of
 * back-to-back calls divided by its length; with fresh inputs, a single call after all ranks have rewritten theirs, and before
 * any does so again.
 * @throws WrongResultError
 */
export async function measure(subject: Subject, trial: Trial, effort: Effort): Promise<Measurement> {
  const { input } = trial;
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
  // The mean of a rank's own samples: that of the largest over the ranks would add up what disturbed each of them.
  const maxima = Float64Array.of(...samples, meanOf(samples));
  await subject.agree(maxima);
  const figures = { samples: maxima.subarray(0, -1), meanMicros: maxima.at(-1) as number };
  return ticks ? { ...figures, ticks: await agreeOnTicks(subject, ticks) } : figures;
}

/** What the thread whose timers were late the most has to tell. */
async function agreeOnTicks(subject: Subject, { count, onTimeShare, worstMillis }: Ticks): Promise<Ticks> {
  const maxima = Float64Array.of(1 - onTimeShare, worstMillis);
  await subject.agree(maxima);
  return { count, onTimeShare: 1 - (maxima[0] as number), worstMillis: maxima[1] as number };
}

/** Takes one sample: microseconds a call of a batch. */
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
 * Calls until the time is up, more and more at once, and some thousand at once at last unless that takes too long. Microseconds that a call took in the
 * end, all that belongs to it included.
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
