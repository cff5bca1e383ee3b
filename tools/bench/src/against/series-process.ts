import type { Effort, Measurement } from '../measurement.js';
import type { Trial, VenueName } from '../trial.js';
import { openVenue } from '../venues/open-venue.js';
import type { Venue } from '../venues/venue.js';

/** The entry of the process of a series, which measures with the packages of its own build. */

export interface SeriesStart {
  readonly ranks: number;
  /** A process of a venue that prints no figure for that long hangs, and is ended. */
  readonly silenceSeconds: number;
}

export interface SeriesOrder {
  readonly venue: VenueName;
  readonly trials: readonly Trial[];
  readonly effort: Effort;
}

/** One measurement per trial of the order, or why there are none. */
export type FromSeries = Measurement[] | { readonly error: string };

const { ranks, silenceSeconds } = JSON.parse(process.argv[2] as string) as SeriesStart;
const venues = new Map<VenueName, Venue>();

process.on('message', (order: SeriesOrder) => void answer(order));
process.once('disconnect', () => void close());

async function answer({ venue, trials, effort }: SeriesOrder): Promise<void> {
  try {
    const opened = venues.get(venue) ?? openVenue(venue, ranks, silenceSeconds);
    venues.set(venue, opened);
    send(await opened.measure(trials, effort));
  } catch (error) {
    send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

function send(message: FromSeries): void {
  process.send?.(message);
}

async function close(): Promise<void> {
  await Promise.all([...venues.values()].map((venue) => venue.close()));
  process.exit();
}
