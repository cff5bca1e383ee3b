import type { CollectiveKind } from '../collectives/collective.js';
import { ValueError } from '../support/errors.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { chunkRange } from './chunk-range.js';
import { type Link, Links } from './links.js';
import { type LinkTimes, PortLoad, Ports } from './ports.js';
import type { RepresentativeSchedule, StreamedSchedule, Transfer } from './schedule.js';

/**
 * The parameters of a machine, and the amount of data. Every rank has its own port, unless
 * `workers` is given.
 */
export interface CostOptions extends LinkTimes {
  /** The kind of collective that the schedule performs. Default: all-reduce. */
  readonly kind?: CollectiveKind;
  /** Bytes of the longest buffer of any rank. */
  readonly bytes: number;
  /** Seconds to combine a byte. */
  readonly gamma: number;
  /** The workers, if links within a worker differ from links between workers. */
  readonly workers?: WorkerLinks | undefined;
}

/**
 * Links within a worker. Ranks are numbered worker by worker, equally many in each. Each rank has a
 * port to the ranks of its worker, with these times. Data to and from other workers passes through
 * the worker's single port, with the times of `CostOptions`.
 */
export interface WorkerLinks extends LinkTimes {
  readonly ranksPerWorker: number;
}

const costOptions = knownOptions<CostOptions>('cost', {
  alpha: true,
  beta: true,
  overhead: true,
  kind: true,
  bytes: true,
  gamma: true,
  workers: true,
});

const workerLinks = knownOptions<WorkerLinks>('cost: workers', {
  alpha: true,
  beta: true,
  overhead: true,
  ranksPerWorker: true,
});

/** The cost of a schedule on the machine of `CostOptions`. */
export interface Cost {
  readonly rounds: number;
  /** The most bytes that any rank sends, in all rounds together. */
  readonly bytesPerRank: number;
  /** The directed link with the most bytes in all rounds together; undefined if nothing moves. */
  readonly busiestLink: Link | undefined;
  /**
   * Total time in seconds. A round takes `alpha`, plus the time of its busiest port, plus the time
   * of the rank that combines most.
   */
  readonly seconds: number;
}

/**
 * The cost of a schedule by the usual model of a message: a latency, and a time per byte. All data
 * from one rank to another in a round is one message. The schedule is read once, in order, and the
 * memory used is about two numbers per link.
 *
 * @throws ValueError for an unknown option, or if the number of ranks is not divisible by the ranks
 * per worker
 */
export function cost(schedule: StreamedSchedule, options: CostOptions): Cost {
  const rounds = new Rounds(schedule, checked(options));
  const links = new Links(schedule.ranks);
  const sent = new Float64Array(schedule.ranks);
  for (const round of schedule.rounds) {
    for (const transfer of round) {
      const { from, to } = transfer;
      const bytes = rounds.sizeOf(transfer);
      rounds.move(transfer, links.send(from, to, bytes, rounds.count));
      (sent[from] as number) += bytes;
    }
    rounds.end();
  }
  const bytesPerRank = sent.reduce((most, bytes) => Math.max(most, bytes), 0);
  return { rounds: rounds.count, bytesPerRank, busiestLink: links.busiest, seconds: rounds.seconds };
}

/**
 * The rounds and seconds of `cost`, from the transfers of representatives alone. For groups whose
 * transfers are too many to read: 65,536 ranks take seconds at most.
 *
 * @throws ValueError as `cost` does
 *
 * @example
 * ```ts
 * import { representativeCost } from '@coll/core/schedule';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * const schedule = ringAlgorithm().representatives?.({ kind: 'all-reduce', op: 'sum' }, 65_536, 1);
 * const machine = { bytes: 2 ** 20, alpha: 5e-6, beta: 8e-11, gamma: 1e-10 };
 * if (schedule) console.log(representativeCost(schedule, machine).rounds); // 131070
 * ```
 */
export function representativeCost(
  schedule: RepresentativeSchedule,
  options: CostOptions,
): Pick<Cost, 'rounds' | 'seconds'> {
  const { ranks, representativeRounds } = schedule;
  const rounds = new Rounds(schedule, checked(options));
  const used = new Set<number>();
  for (const round of representativeRounds) {
    for (const transfer of round) {
      const before = used.size;
      used.add(transfer.from * ranks + transfer.to);
      rounds.move(transfer, used.size > before);
    }
    used.clear();
    rounds.end();
  }
  return { rounds: rounds.count, seconds: rounds.seconds };
}

function checked(options: CostOptions): CostOptions {
  const given = optionsOf(options, '{ bytes, alpha, beta, gamma }', costOptions) as CostOptions;
  optionsOf(given.workers, '{ ranksPerWorker, alpha, beta }', workerLinks);
  return given;
}

/** Adds up the time of rounds. */
class Rounds {
  readonly #gamma: number;
  readonly #sizes: Float64Array;
  readonly #ranksPerWorker: number;
  readonly #within: Ports;
  readonly #across: Ports;
  readonly #reduced: PortLoad;
  #count = 0;
  #seconds = 0;

  constructor(schedule: Pick<StreamedSchedule, 'ranks' | 'chunks'>, options: CostOptions) {
    const { ranks } = schedule;
    const { kind = 'all-reduce', bytes, gamma, workers } = options;
    const { ranksPerWorker, ...withinTimes } = workers ?? { ranksPerWorker: 1, ...options };
    validate(ranks, ranksPerWorker);
    this.#gamma = gamma;
    this.#sizes = sizesOf(schedule, kind, bytes);
    this.#ranksPerWorker = ranksPerWorker;
    this.#within = new Ports(ranks, withinTimes);
    this.#across = new Ports(ranks / ranksPerWorker, options);
    this.#reduced = new PortLoad(ranks);
  }

  /** Number of rounds that have ended. */
  get count(): number {
    return this.#count;
  }

  /** Seconds of the rounds that have ended. */
  get seconds(): number {
    return this.#seconds;
  }

  sizeOf({ chunk }: Transfer): number {
    return this.#sizes[chunk] as number;
  }

  /** Adds a transfer of this round; `isNew` if it is the first of its message. */
  move(transfer: Transfer, isNew: boolean): void {
    const { from, to, reduce } = transfer;
    const size = this.sizeOf(transfer);
    const messages = isNew ? 1 : 0;
    const source = Math.floor(from / this.#ranksPerWorker);
    const target = Math.floor(to / this.#ranksPerWorker);
    if (source === target) this.#within.send(from, to, size, messages);
    else this.#across.send(source, target, size, messages);
    if (reduce) this.#reduced.add(to, size, 1);
  }

  end(): void {
    const onPorts = Math.max(this.#within.endRound(), this.#across.endRound());
    this.#seconds += onPorts + this.#reduced.empty({ alpha: 0, beta: this.#gamma });
    this.#count += 1;
  }
}

function validate(ranks: number, ranksPerWorker: number): void {
  if (Number.isInteger(ranksPerWorker) && ranksPerWorker >= 1 && ranks % ranksPerWorker === 0) return;
  const problem = `${ranks} ranks cannot be split into workers of ${ranksPerWorker} ranks`;
  throw new ValueError('ERR_COLL_VALUE', `${problem}; ranksPerWorker must divide the number of ranks`);
}

function sizesOf(
  schedule: Pick<StreamedSchedule, 'ranks' | 'chunks'>,
  kind: CollectiveKind,
  bytes: number,
): Float64Array {
  return Float64Array.from({ length: schedule.chunks }, (_, chunk) => {
    const { begin, end } = chunkRange(schedule, kind, bytes, chunk, 'input');
    return end - begin;
  });
}
