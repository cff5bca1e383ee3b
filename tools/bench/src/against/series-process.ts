import { answerOrders } from '../ask.js';
import { Venues } from '../venues/venues.js';
import type { SeriesOrder, SeriesStart } from './series.js';

/** The process of a series, which measures with the packages of its own build. */

const { ranks, silenceSeconds } = JSON.parse(process.argv[2] as string) as SeriesStart;
const venues = new Venues(ranks, silenceSeconds);

// The answer has one measurement per trial.
answerOrders(({ venue, trials, effort }: SeriesOrder) => venues.open(venue).measure(trials, effort));

process.once('disconnect', () => {
  void venues.close().finally(() => process.exit());
});
