import type { Collective, CollectiveKind } from '@coll/core';
import type { Algorithm, Schedule } from '@coll/core/schedule';
import { type LinkModel, predict } from './link-model.js';

/** A candidate for a collective. */
export interface PricedCandidate {
  readonly algorithm: string;
  /** By the model of the links. */
  readonly predictedSeconds: number;
}

/** The algorithm for collectives of one kind and size class, and why it was chosen. */
export interface AlgorithmChoice {
  readonly kind: CollectiveKind;
  /** The largest whole buffer of this class; the next smaller class ends at half of it. */
  readonly upToBytes: number;
  readonly chosen: string;
  /** In ascending order of their price, so that the chosen one is the first. */
  readonly candidates: readonly PricedCandidate[];
  /** Collectives of this class that ended well. */
  readonly calls: number;
  /** Mean from call to result, which includes waiting for the other members; undefined where none has ended. */
  readonly measuredSeconds: number | undefined;
}

/** A choice that is in use. */
export class SizeClass {
  /** The number of the chosen one among all algorithms. */
  readonly chosen: number;
  readonly #explained: Omit<AlgorithmChoice, 'calls' | 'measuredSeconds'>;
  #calls = 0;
  #seconds = 0;

  constructor(chosen: number, explained: Omit<AlgorithmChoice, 'calls' | 'measuredSeconds'>) {
    this.chosen = chosen;
    this.#explained = explained;
  }

  /** Counts a collective that ended well; `begin` is when it was called, by `performance.now()`. */
  ended(begin: number): void {
    this.#calls += 1;
    this.#seconds += (performance.now() - begin) / 1000;
  }

  get explained(): AlgorithmChoice {
    const [calls, seconds] = [this.#calls, this.#seconds];
    return { ...this.#explained, calls, measuredSeconds: calls === 0 ? undefined : seconds / calls };
  }
}

// Streams that share a link do not end at once, and who is left takes a while to fill it alone: 12 to 21 % were measured among four hosts.
const sharing = 1.15;
// Sums of the same prices in another order.
const rounding = 1e-9;

/**
 * Which algorithm is played for a collective of which size: the cheapest by a model of the links, priced for a class of sizes when its first collective
 * comes. The same on all ranks that have the same model.
 */
export class AlgorithmChoices {
  readonly #algorithms: readonly Algorithm[];
  readonly #ranks: number;
  readonly #model: LinkModel;
  readonly #areHostsApart: boolean;
  readonly #classes = new Map<CollectiveKind, SizeClass[]>();

  /** `areHostsApart`: the ranks are not all on one host. */
  constructor(algorithms: readonly Algorithm[], ranks: number, model: LinkModel, areHostsApart = false) {
    this.#algorithms = algorithms;
    this.#ranks = ranks;
    this.#model = model;
    this.#areHostsApart = areHostsApart;
  }

  /** `bytes` are those of the whole buffer that chunks cut. */
  choose(collective: Collective, bytes: number): SizeClass {
    const power = bytes <= 1 ? 0 : Math.ceil(Math.log2(bytes));
    let classes = this.#classes.get(collective.kind);
    if (!classes) {
      classes = [];
      this.#classes.set(collective.kind, classes);
    }
    const known = classes[power];
    if (known) return known;
    const made = this.#price(collective, 2 ** power);
    classes[power] = made;
    return made;
  }

  /** Of all classes that were used, by kind and size. */
  get explained(): readonly AlgorithmChoice[] {
    return [...this.#classes.values()].flatMap((classes) => Object.values(classes).map(({ explained }) => explained));
  }

  #price(asked: Collective, bytes: number): SizeClass {
    const { kind } = asked;
    // Who the root is makes no difference to a price.
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

/** Whether a host has more than one stream to the others. */
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
