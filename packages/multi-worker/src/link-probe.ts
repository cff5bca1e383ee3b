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

interface Trial {
  readonly collective: Collective;
  /** Size of the whole buffer in bytes. */
  readonly bytes: number;
  readonly times: number;
}

const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };
const allGather: Collective = { kind: 'all-gather' };

// All trials take a few milliseconds in total on short links. The all-gathers make it possible to
// separate the time per byte from the times of sums and rounds, because a small all-reduce may take
// one round with any algorithm.
const trials: readonly Trial[] = [
  // The first call also plans and connects.
  { collective: allGather, bytes: 4, times: 4 },
  { collective: allGather, bytes: 1 << 13, times: 2 },
  { collective: allReduce, bytes: 1 << 17, times: 2 },
  { collective: allGather, bytes: 1 << 17, times: 2 },
];

/**
 * Measures the links of a group by timing a few collectives on the given communicators, one
 * communicator per algorithm. All members must call this function. All get the same model, that of
 * rank 0.
 */
export function* probe(
  group: ProcessGroup,
  algorithms: readonly Algorithm[],
  communicators: readonly Communicator[],
): Probe {
  const { size } = group;
  const asked: Omit<Sample, 'seconds'>[] = [];
  const taken: number[][] = [];
  for (const [index, algorithm] of algorithms.entries()) {
    const communicator = communicators[index] as Communicator;
    for (const { collective, bytes, times } of trials) {
      if (communicator.refuses(collective, 'float32') !== undefined) continue;
      // Blocks have equal lengths.
      const length = Math.max(1, Math.floor(bytes / 4 / (collective.kind === 'all-gather' ? size : 1)));
      const input = zeros('float32', [length]);
      const output = zeros('float32', [outputLength(collective, length, size)]);
      const call = { communicator, collective, input, output };
      const seconds: number[] = [];
      for (let time = 0; time < times; time++) seconds.push(yield call);
      taken.push(seconds);
      const schedule = algorithm.plan(collective, size);
      asked.push({ kind: collective.kind, schedule, bytes: output.data.byteLength });
    }
  }
  const fastest = yield* fastestOf(communicators[0] as Communicator, taken);
  const samples = asked.map((one, index) => ({ ...one, seconds: fastest[index] as number }));
  return yield* agree(group, communicators, samples);
}

/**
 * For each trial, the seconds of its fastest execution. The time of an execution is that of the
 * slowest rank: a rank that arrives late finds all data already there, so on links with high
 * latency its own time would be nearly zero.
 */
function* fastestOf(
  communicator: Communicator,
  taken: readonly (readonly number[])[],
): Generator<ProbeCall, readonly number[], number> {
  const own = Float64Array.from(taken.flat());
  const buffer: Tensor = { ...zeros('float64', [own.length]), data: own };
  yield { communicator, collective: { kind: 'all-reduce', op: 'max' }, input: buffer, output: buffer };
  let end = 0;
  return taken.map(({ length }) => {
    end += length;
    // Browser clocks are coarse, and a ratio needs a nonzero divisor.
    return Math.max(Math.min(...own.subarray(end - length, end)), 1e-7);
  });
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
