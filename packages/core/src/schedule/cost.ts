import type { CollectiveKind } from '../collectives/collective.js';
import { ValueError } from '../support/errors.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { chunkRange } from './chunk-range.js';
import { type Link, Links } from './links.js';
import { type LinkTimes, Ports } from './ports.js';
import type { StreamedSchedule, Transfer } from './schedule.js';

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
  const given = optionsOf(options, '{ bytes, alpha, beta, gamma }', costOptions) as CostOptions;
  optionsOf(given.workers, '{ ranksPerWorker, alpha, beta }', workerLinks);
  const meter = new Meter(schedule, given);
  for (const round of schedule.rounds) {
    for (const transfer of round) meter.move(transfer);
    meter.endRound();
  }
  return meter.cost;
}

/** Adds up moved data and time, round by round. */
class Meter {
  readonly #gamma: number;
  readonly #sizes: Float64Array;
  readonly #workerOf: Uint32Array;
  readonly #within: Ports;
  readonly #across: Ports;
  readonly #links: Links;
  readonly #sent: Float64Array;
  readonly #reduced: Float64Array;
  #rounds = 0;
  #seconds = 0;

  constructor(schedule: StreamedSchedule, options: CostOptions) {
    const { ranks } = schedule;
    const { kind = 'all-reduce', bytes, gamma, workers } = options;
    const { ranksPerWorker, ...withinTimes } = workers ?? { ranksPerWorker: 1, ...options };
    validate(ranks, ranksPerWorker);
    this.#gamma = gamma;
    this.#sizes = sizesOf(schedule, kind, bytes);
    this.#workerOf = Uint32Array.from({ length: ranks }, (_, rank) => Math.floor(rank / ranksPerWorker));
    this.#within = new Ports(ranks, withinTimes);
    this.#across = new Ports(ranks / ranksPerWorker, options);
    this.#links = new Links(ranks);
    this.#sent = new Float64Array(ranks);
    this.#reduced = new Float64Array(ranks);
  }

  get cost(): Cost {
    return {
      rounds: this.#rounds,
      bytesPerRank: most(this.#sent),
      busiestLink: this.#links.busiest,
      seconds: this.#seconds,
    };
  }

  move({ from, to, chunk, reduce }: Transfer): void {
    const size = this.#sizes[chunk] as number;
    const messages = this.#links.send(from, to, size, this.#rounds) ? 1 : 0;
    const [source, target] = [this.#workerOf[from] as number, this.#workerOf[to] as number];
    if (source === target) this.#within.send(from, to, size, messages);
    else this.#across.send(source, target, size, messages);
    (this.#sent[from] as number) += size;
    if (reduce) (this.#reduced[to] as number) += size;
  }

  endRound(): void {
    const onPorts = Math.max(this.#within.endRound(), this.#across.endRound());
    this.#seconds += onPorts + this.#gamma * most(this.#reduced);
    this.#reduced.fill(0);
    this.#rounds += 1;
  }
}

function validate(ranks: number, ranksPerWorker: number): void {
  if (Number.isInteger(ranksPerWorker) && ranksPerWorker >= 1 && ranks % ranksPerWorker === 0) return;
  const problem = `${ranks} ranks cannot be split into workers of ${ranksPerWorker} ranks`;
  throw new ValueError('ERR_COLL_VALUE', `${problem}; ranksPerWorker must divide the number of ranks`);
}

function sizesOf(schedule: StreamedSchedule, kind: CollectiveKind, bytes: number): Float64Array {
  return Float64Array.from({ length: schedule.chunks }, (_, chunk) => {
    const { begin, end } = chunkRange(schedule, kind, bytes, chunk, 'input');
    return end - begin;
  });
}

function most(values: Float64Array): number {
  return values.reduce((high, value) => Math.max(high, value), 0);
}
