import type { Collective, CollectiveKind } from '@coll/core';
import { bytesText, CallTimes, type SlowCallLog } from '@coll/core/internal';
import type { Algorithm, Schedule } from '@coll/core/schedule';
import { type LinkModel, predict } from './link-model.js';

/** A candidate algorithm, with its predicted time. */
export interface PricedCandidate {
  readonly algorithm: string;
  /** Time of the collective in seconds, as predicted by the link model. */
  readonly predictedSeconds: number;
}

/**
 * The algorithm chosen for collectives of one kind and size class, and the reason for the choice.
 */
export interface AlgorithmChoice {
  readonly kind: CollectiveKind;
  /**
   * Size in bytes of the largest buffer in this size class. The class begins above half this size.
   */
  readonly upToBytes: number;
  readonly chosen: string;
  /** The candidate algorithms in ascending order of predicted time. The first one is chosen. */
  readonly candidates: readonly PricedCandidate[];
  /** Number of successful collectives of this kind and size class. */
  readonly calls: number;
  /**
   * Mean seconds from the call of a collective to its result, including waits for other members;
   * undefined if no collective has ended yet. Of many collectives, one in sixteen is measured.
   */
  readonly measuredSeconds: number | undefined;
}

/** An algorithm, and the size up to which it is chosen, in bytes; undefined for all larger ones. */
export interface AlgorithmBySize {
  readonly algorithm: string;
  readonly upToBytes: number | undefined;
}

// The first collectives are all measured. Reading the clock twice takes a fifth of a small one.
const leastMeasured = 16;
const callsPerMeasured = 16;

/** The algorithm chosen for one kind and size class of collectives, and the measured times. */
export class SizeClass {
  /** Index of the chosen algorithm in the list of candidates. */
  readonly chosen: number;
  readonly #explained: Omit<AlgorithmChoice, 'calls' | 'measuredSeconds'>;
  readonly #times = new CallTimes();
  #calls = 0;
  #measured = 0;
  #seconds = 0;

  constructor(chosen: number, explained: Omit<AlgorithmChoice, 'calls' | 'measuredSeconds'>) {
    this.chosen = chosen;
    this.#explained = explained;
  }

  /** Whether a collective of this many bytes belongs to this class. */
  has(kind: CollectiveKind, bytes: number): boolean {
    const { kind: own, upToBytes } = this.#explained;
    return kind === own && bytes <= upToBytes && (bytes > upToBytes / 2 || upToBytes === 1);
  }

  /** The time at which a collective begins, for `ended`; undefined if this collective is not measured. */
  begin(): number | undefined {
    const isMeasured = this.#calls < leastMeasured || this.#calls % callsPerMeasured === 0;
    return isMeasured ? performance.now() : undefined;
  }

  /**
   * Records a successful collective that began at `begin`. `slowCalls`: where to report it if it took
   * far longer than those before it.
   */
  ended(begin: number | undefined, slowCalls?: SlowCallLog): void {
    this.#calls += 1;
    if (begin === undefined) return;
    this.#measured += 1;
    const seconds = (performance.now() - begin) / 1000;
    this.#seconds += seconds;
    const median = this.#times.note(seconds);
    if (median === undefined || !slowCalls) return;
    const { kind, upToBytes } = this.#explained;
    slowCalls.add(`${kind} of up to ${bytesText(upToBytes)}`, seconds, median);
  }

  get explained(): AlgorithmChoice {
    const [calls, seconds] = [this.#calls, this.#seconds];
    const measuredSeconds = this.#measured === 0 ? undefined : seconds / this.#measured;
    return { ...this.#explained, calls, measuredSeconds };
  }
}

// Factor by which the time per byte grows on a shared link. Streams that share it do not end at the
// same time, and the last stream needs time until it uses the whole link. Between four hosts, an
// increase of 12 to 21 % was measured.
const sharing = 1.15;
// Tolerance for sums of the same prices in a different order.
const rounding = 1e-9;

/**
 * Chooses an algorithm for each kind and size class of collectives, at the first collective of the
 * class: the one that is fastest according to a link model. Ranks with the same model choose the
 * same algorithm.
 */
export class AlgorithmChoices {
  readonly #algorithms: readonly Algorithm[];
  readonly #ranks: number;
  readonly #model: LinkModel;
  readonly #areHostsApart: boolean;
  readonly #classes = new Map<CollectiveKind, SizeClass[]>();
  /** The class of the latest collective, to which the next one probably belongs. */
  #latest: SizeClass | undefined;

  /** @param areHostsApart whether the ranks are on more than one host */
  constructor(algorithms: readonly Algorithm[], ranks: number, model: LinkModel, areHostsApart = false) {
    this.#algorithms = algorithms;
    this.#ranks = ranks;
    this.#model = model;
    this.#areHostsApart = areHostsApart;
  }

  /**
   * Returns the size class of a collective, with the chosen algorithm.
   * @param bytes size of the whole buffer, which the schedule cuts into chunks
   */
  choose(collective: Collective, bytes: number): SizeClass {
    const known = this.known(collective.kind, bytes);
    if (known) return known;
    const power = powerFor(bytes);
    const made = this.#price(collective, 2 ** power);
    const classes = this.#classes.get(collective.kind) ?? [];
    classes[power] = made;
    this.#classes.set(collective.kind, classes);
    return made;
  }

  /** The size class of earlier collectives of this kind and about this size; undefined if there were none. */
  known(kind: CollectiveKind, bytes: number): SizeClass | undefined {
    if (this.#latest?.has(kind, bytes)) return this.#latest;
    const found = this.#classes.get(kind)?.[powerFor(bytes)];
    if (found) this.#latest = found;
    return found;
  }

  /** The algorithms for collectives of this kind by size, in ascending order, from 256 B in steps of a factor of 4. */
  bySize(collective: Collective): readonly AlgorithmBySize[] {
    const ranges: { algorithm: string; upToBytes: number | undefined }[] = [];
    for (let bytes = 2 ** 8; bytes <= 2 ** 28; bytes *= 4) {
      const algorithm = this.#price(collective, bytes).explained.chosen;
      const latest = ranges.at(-1);
      if (latest?.algorithm === algorithm) continue;
      if (latest) latest.upToBytes = bytes / 4;
      ranges.push({ algorithm, upToBytes: undefined });
    }
    return ranges;
  }

  /** The choices for all size classes in use, ordered by kind and size. */
  get explained(): readonly AlgorithmChoice[] {
    return [...this.#classes.values()].flatMap((classes) => Object.values(classes).map(({ explained }) => explained));
  }

  #price(asked: Collective, bytes: number): SizeClass {
    const { kind } = asked;
    // The price does not depend on the root.
    const collective = 'root' in asked ? { ...asked, root: 0 } : asked;
    const priced = this.#algorithms.flatMap((algorithm, index) => {
      if (algorithm.refuses?.(collective, this.#ranks) !== undefined) return [];
      const schedule = algorithm.plan(collective, this.#ranks);
      const predictedSeconds = predict(this.#modelFor(schedule), { kind, schedule, bytes });
      return [{ index, algorithm: algorithm.name, predictedSeconds }];
    });
    const sorted = priced.toSorted((one, other) => {
      const difference = one.predictedSeconds - other.predictedSeconds;
      return Math.abs(difference) > rounding * one.predictedSeconds ? difference : 0;
    });
    const [best] = sorted as [(typeof sorted)[number]];
    const candidates = sorted.map(({ algorithm, predictedSeconds }) => ({ algorithm, predictedSeconds }));
    return new SizeClass(best.index, { kind, upToBytes: bytes, chosen: best.algorithm, candidates });
  }

  #modelFor(schedule: Schedule): LinkModel {
    const { across, within } = this.#model;
    if (!this.#areHostsApart || !haveSharedLinks(schedule, within?.ranksPerWorker ?? 1)) return this.#model;
    return { ...this.#model, across: { ...across, beta: across.beta * sharing } };
  }
}

/** The size class of this number of bytes ends at 2 to this power. */
function powerFor(bytes: number): number {
  return bytes <= 1 ? 0 : Math.ceil(Math.log2(bytes));
}

/** Whether several pairs of ranks use the link between a host and other hosts in the same round. */
function haveSharedLinks({ rounds }: Schedule, ranksPerHost: number): boolean {
  const streams = new Map<number, string>();
  return rounds.some((round) =>
    round.some(({ from, to }) => {
      const [host, other] = [Math.floor(from / ranksPerHost), Math.floor(to / ranksPerHost)];
      if (host === other) return false;
      const stream = `${from} ${to}`;
      const known = streams.get(host) ?? stream;
      streams.set(host, known);
      return known !== stream;
    }),
  );
}
