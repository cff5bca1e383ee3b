import { untilQuiet, watchForeignLoad } from './foreign-load.js';
import type { Effort } from './measurement.js';
import type { Machine } from './report/machine.js';
import { type Row, rowOf } from './report/row.js';
import { formatBytes } from './sizes.js';
import { bytesOf, type Piece, type Session, type Trial, type VenueName } from './trial.js';
import { openVenue } from './venues/open-venue.js';
import type { Venue } from './venues/venue.js';

export interface RunSettings {
  /** How often the turns of a piece are taken. */
  readonly rounds: number;
  readonly effort: Omit<Effort, 'checks'>;
  /** The longest wait, before each round of a piece, for other programs to leave the machine alone. */
  readonly patienceSeconds: number;
  readonly machine: Machine;
  readonly onProgress: (message: string) => void;
}

/** Measures piece by piece; the rows of a piece come when all its rounds are over. @throws WrongResultError */
export async function* runSession(session: Session, settings: RunSettings): AsyncGenerator<Row> {
  const venues = new Venues(session.ranks);
  try {
    for (const piece of session.pieces) {
      const place = `${session.label}, ${session.ranks} ranks, ${sizesOf(piece)}`;
      yield* runPiece(piece, venues, {
        ...settings,
        onProgress: (message) => settings.onProgress(`${place}, ${message}`),
      });
    }
  } finally {
    await venues.close();
  }
}

function sizesOf(piece: Piece): string {
  const sizes = piece.flatMap(({ trials }) => trials.map(bytesOf));
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map(formatBytes);
  return least === most ? `${least}` : `${least} to ${most}`;
}

async function* runPiece(piece: Piece, venues: Venues, settings: RunSettings): AsyncGenerator<Row> {
  const { rounds, effort, patienceSeconds, machine, onProgress } = settings;
  const samples = new Map<Trial, number[]>();
  const loads: (number | undefined)[] = [];
  for (let round = 0; round < rounds; round++) {
    const isQuiet = await untilQuiet(patienceSeconds);
    onProgress(`round ${round + 1} of ${rounds}${isQuiet ? '' : ', while other programs are busy'}`);
    const foreignLoad = watchForeignLoad();
    for (const { venue, trials } of piece) {
      const measured = await venues.open(venue).measure(trials, { ...effort, checks: round === 0 });
      for (const [index, trial] of trials.entries()) {
        samples.set(trial, [...(samples.get(trial) ?? []), ...(measured[index]?.samples ?? [])]);
      }
    }
    loads.push(foreignLoad());
  }
  const known = loads.filter((load) => load !== undefined);
  const findings = { machine, foreignLoad: known.length > 0 ? Math.max(...known) : undefined };
  const copies = [...samples].filter(([trial]) => trial.engine === 'copy');
  for (const [trial, own] of samples) {
    if (trial.engine === 'copy') continue;
    const [, copySamples = []] = copies.find(([copy]) => bytesOf(copy) === bytesOf(trial)) ?? [];
    yield rowOf(trial, { ...findings, samples: own, copySamples });
  }
}

/** The places of one session, opened when they are first needed. */
class Venues {
  readonly #ranks: number;
  readonly #opened = new Map<VenueName, Venue>();

  constructor(ranks: number) {
    this.#ranks = ranks;
  }

  open(name: VenueName): Venue {
    const known = this.#opened.get(name);
    if (known) return known;
    const made = openVenue(name, this.#ranks);
    this.#opened.set(name, made);
    return made;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((venue) => venue.close()));
  }
}
