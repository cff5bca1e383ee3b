import { type Collective, type Communicator, type ProcessGroup, type Tensor, zeros } from '@coll/core';
import { outputLength } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { fit, type LinkModel, modelFrom, modelLength, numbersOf, type Sample } from './link-model.js';

/** A collective that is run to measure its time. */
export interface ProbeCall {
  readonly communicator: Communicator;
  readonly collective: Collective;
  readonly input: Tensor;
  readonly output: Tensor;
}

/**
 * Yields collectives one after the other. The caller executes each and passes in the seconds that
 * it took. The result is the model.
 */
export type Probe = Generator<ProbeCall, LinkModel, number>;

/** A collective that one algorithm executes in each round of the measurement. */
interface Trial extends ProbeCall {
  readonly asked: Omit<Sample, 'seconds'>;
  readonly isLarge: boolean;
  /** Seconds of the fastest execution so far. */
  seconds: number;
}

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };
const allGather: Collective = { kind: 'all-gather' };

// The all-gathers make it possible to separate the time per byte from the times of sums and rounds,
// because a small all-reduce may take one round with any algorithm. Only with a mebibyte do the bytes
// on a link of 1 Gbit/s outweigh what a busy host adds to each call.
const collectives: readonly (readonly [Collective, number])[] = [
  [allGather, 4],
  [allGather, 1 << 13],
  [allReduce, 1 << 17],
  [allGather, 1 << 17],
  [allReduce, 1 << 20],
];
const largeBytes = 1 << 20;

// A round executes each trial once, so that a disturbance does not hit all executions of one trial.
// The first round also plans and connects. On short links six rounds take a few milliseconds.
const leastRounds = 2;
const mostRounds = 6;
const budgetSeconds = 0.5;

/**
 * Measures the links of a group by timing a few collectives on the given communicators, one
 * communicator per algorithm. All members must call this function. All get the same model, that of
 * rank 0. On slow links there are fewer rounds, and none of large buffers.
 */
export function* probe(
  group: ProcessGroup,
  algorithms: readonly Algorithm[],
  communicators: readonly Communicator[],
): Probe {
  const trials = trialsOf(group.size, algorithms, communicators);
  let spent = 0;
  for (let round = 0; round < leastRounds || (round < mostRounds && spent < budgetSeconds); round++) {
    const hasLarge = round > 0 && spent < budgetSeconds;
    spent += yield* runRound(
      communicators[0] as Communicator,
      trials.filter(({ isLarge }) => hasLarge || !isLarge),
    );
  }
  const samples = trials.flatMap(({ asked, seconds }) => (seconds === Infinity ? [] : [{ ...asked, seconds }]));
  return yield* agree(group, communicators, samples);
}

function trialsOf(size: number, algorithms: readonly Algorithm[], communicators: readonly Communicator[]): Trial[] {
  return collectives.flatMap(([collective, bytes]) => {
    // Blocks have equal lengths.
    const length = Math.max(1, Math.floor(bytes / 4 / (collective.kind === 'all-gather' ? size : 1)));
    const input = zeros('float32', [length]);
    const output = zeros('float32', [outputLength(collective, length, size)]);
    return algorithms.flatMap((algorithm, index) => {
      const communicator = communicators[index] as Communicator;
      if (communicator.refuses(collective, 'float32') !== undefined) return [];
      const schedule = algorithm.plan(collective, size);
      const asked = { kind: collective.kind, schedule, bytes: output.data.byteLength };
      return { communicator, collective, input, output, asked, isLarge: bytes === largeBytes, seconds: Infinity };
    });
  });
}

/**
 * Executes each trial once and returns the seconds of all together, the same on all ranks. The time
 * of an execution is that of the slowest rank: a rank that arrives late finds all data already
 * there, so on links with high latency its own time would be nearly zero.
 */
function* runRound(communicator: Communicator, trials: readonly Trial[]): Generator<ProbeCall, number, number> {
  const own = new Float64Array(trials.length);
  for (const [index, trial] of trials.entries()) own[index] = yield trial;
  const buffer: Tensor = { ...zeros('float64', [own.length]), data: own };
  yield { communicator, collective: { kind: 'all-reduce', op: 'max' }, input: buffer, output: buffer };
  for (const [index, trial] of trials.entries()) {
    // Browser clocks are coarse, and a ratio needs a nonzero divisor.
    trial.seconds = Math.min(trial.seconds, Math.max(own[index] as number, 1e-7));
  }
  return own.reduce((sum, seconds) => sum + seconds, 0);
}

function* agree(group: ProcessGroup, communicators: readonly Communicator[], samples: readonly Sample[]): Probe {
  const output = zeros('float64', [modelLength]);
  const own = group.rank === 0 ? Float64Array.from(numbersOf(fit(samples, ranksPerHost(group)))) : output.data;
  const collective: Collective = { kind: 'broadcast', root: 0 };
  yield { communicator: communicators[0] as Communicator, collective, input: { ...output, data: own }, output };
  return modelFrom(Array.from(output.data, Number));
}

/**
 * The number of ranks per host, as `evenRanksPerHost` returns it, if ranks share memory within but
 * not across hosts. Undefined if all links count as one kind.
 */
export function ranksPerHost({ rank, hosts, links }: Pick<ProcessGroup, 'rank' | 'hosts' | 'links'>) {
  const count = evenRanksPerHost(hosts);
  if (count === undefined) return undefined;
  const isSplit = links.every((link) => {
    const isNear = Math.floor(link.rank / count) === Math.floor(rank / count);
    return (link.transport === 'shared-memory') === isNear;
  });
  return isSplit ? count : undefined;
}

/**
 * The number of ranks per host, if there are several hosts with several ranks each, and ranks are
 * numbered host by host, equally many on each. Undefined otherwise. The result is the same on all
 * ranks.
 * @param hosts the host of each rank
 */
export function evenRanksPerHost(hosts: readonly string[]): number | undefined {
  const count = hosts.filter((host) => host === hosts[0]).length;
  if (count <= 1 || count === hosts.length || hosts.length % count !== 0) return undefined;
  const isEven = hosts.every((host, index) => host === hosts[index - (index % count)]);
  return isEven && new Set(hosts).size === hosts.length / count ? count : undefined;
}
