import { answerOrders } from '../ask.js';
import type { Effort } from '../measurement.js';
import type { Trial, VenueName } from '../trial.js';
import { Venues } from '../venues/venues.js';

/** The process of a series, which measures with the packages of its own build. */

export interface SeriesStart {
  readonly ranks: number;
  /** How long a process of a venue may print no figure before it counts as hung and is killed. */
  readonly silenceSeconds: number;
}

export interface SeriesOrder {
  readonly venue: VenueName;
  readonly trials: readonly Trial[];
  readonly effort: Effort;
}

const { ranks, silenceSeconds } = JSON.parse(process.argv[2] as string) as SeriesStart;
const venues = new Venues(ranks, silenceSeconds);

// The answer has one measurement per trial.
answerOrders(({ venue, trials, effort }: SeriesOrder) => venues.open(venue).measure(trials, effort));

process.once('disconnect', () => {
  void venues.close().finally(() => process.exit());
});
