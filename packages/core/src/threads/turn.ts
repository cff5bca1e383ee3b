import type { Descriptors } from './descriptors.js';
import { copyAll, type Offer, type Part, type SizedFold } from './offers.js';
import type { Rendezvous } from './rendezvous.js';
import { shareOf, spansOf } from './shares.js';

/** What a turn needs next: that all ranks come to its count, a pause, or nothing. */
export type Need = 'meeting' | 'pause' | 'nothing';

// Elements that are folded between two looks at the clock: some hundred microseconds.
const sliceLength = 1 << 18;

/**
 * A rank's part in a collective, from one meeting to the next: all say what they bring; each works off its share of all inputs into all
 * outputs; all meet again, because until then somebody may read or write anybody's memory. Of a small collective everybody works
 * off everything, from copies, and goes its way.
 */
export class Turn {
  readonly #rendezvous: Rendezvous;
  readonly #descriptors: readonly [Descriptors, Descriptors];
  readonly #rank: number;
  readonly #size: number;
  #offer!: Offer;
  #part!: Part;
  #number = 0;
  #count = 0;
  #fold = 0;
  #at = 0;
  #phase: 'begun' | 'folding' | 'folded' = 'begun';

  constructor(rendezvous: Rendezvous, descriptors: readonly [Descriptors, Descriptors], rank: number, size: number) {
    this.#rendezvous = rendezvous;
    this.#descriptors = descriptors;
    this.#rank = rank;
    this.#size = size;
  }

  /** What all ranks must come to before the turn goes on. */
  get count(): number {
    return this.#count;
  }

  begin(offer: Offer): void {
    const number = this.#rendezvous.turn(this.#rank);
    const part = offer.parts[number] as Part;
    this.#offer = offer;
    this.#part = part;
    this.#number = number;
    this.#phase = 'begun';
    copyAll(part.loads);
    (this.#descriptors[number] as Descriptors).write(this.#rank, part.descriptor);
    this.#rendezvous.offer(this.#rank, number, part.number);
    this.#count = this.#rendezvous.advance(this.#rank);
  }

  /** Goes on after a meeting or a pause, which it asks for at that time of `performance.now()`. @throws where ranks disagree */
  goOn(until: number): Need {
    if (this.#phase === 'begun') {
      this.#agree();
      this.#fold = 0;
      this.#at = 0;
      this.#phase = 'folding';
    }
    if (this.#phase === 'folding') {
      if (!this.#foldUntil(until)) return 'pause';
      if (!this.#offer.isSmall) {
        this.#phase = 'folded';
        this.#count = this.#rendezvous.advance(this.#rank);
        return 'meeting';
      }
    }
    copyAll(this.#part.stores);
    return 'nothing';
  }

  /** Makes the folds anew where anybody brings something else than last time. */
  #agree(): void {
    const { seen } = this.#part;
    let isNew = false;
    for (let rank = 0; rank < this.#size; rank++) {
      const offered = this.#rendezvous.offered(rank, this.#number);
      if (seen[rank] === offered) continue;
      seen[rank] = offered;
      isNew = true;
    }
    if (!isNew) return;
    this.#refuseDisagreement();
    this.#part.folds = this.#makeFolds();
  }

  #refuseDisagreement(): void {
    const { operation, inputBytes, outputBytes, isShared } = this.#offer;
    const descriptors = this.#descriptors[this.#number] as Descriptors;
    const error = descriptors.mismatch() ?? descriptors.overlap(operation, inputBytes, outputBytes, isShared);
    if (!error) return;
    this.#part.seen.fill(0);
    this.#rendezvous.fail(error.rank ?? this.#rank, 'peer', `an earlier collective failed: ${error.message}`);
    throw error;
  }

  #makeFolds(): SizedFold[] {
    const { plan, isSmall } = this.#offer;
    const { length } = this.#part.descriptor;
    const descriptors = this.#descriptors[this.#number] as Descriptors;
    const work = { ...plan, length };
    const spans = isSmall
      ? spansOf(
          work,
          { inputAt: (rank) => descriptors.workAt(rank), outputAt: (rank) => descriptors.outputAt(rank) },
          { begin: 0, end: length },
          (rank) => rank === this.#rank,
        )
      : spansOf(work, descriptors, shareOf(work, this.#rank), () => true);
    return spans.map((span) => ({ count: span.count, fold: plan.makeFold(span) }));
  }

  #foldUntil(until: number): boolean {
    const { folds } = this.#part;
    for (; this.#fold < folds.length; this.#fold++) {
      const { fold, count } = folds[this.#fold] as SizedFold;
      while (this.#at < count) {
        const begin = this.#at;
        this.#at = Math.min(count, begin + sliceLength);
        fold(begin, this.#at - begin);
        // Short ones never get here twice, so that they do not look at the clock.
        if (this.#at < count && performance.now() >= until) return false;
      }
      this.#at = 0;
    }
    return true;
  }
}
