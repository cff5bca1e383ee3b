import { tolerableLoad, untilQuiet, watchForeignLoad } from './foreign-load.js';
import type { Effort, Measurement } from './measurement.js';
import type { PeerName } from './peers/peers.js';
import type { Machine } from './report/machine.js';
import { type BesideMpi, type FailedRow, type Findings, failedRowOf, type Row, rowOf } from './report/row.js';
import { formatBytes } from './sizes.js';
import { meanOf, summarize } from './statistics.js';
import { worstOf } from './ticking.js';
import { bytesOf, type Overlap, type Piece, type Session, type Trial, type Turn, type Work } from './trial.js';
import type { Venue } from './venues/venue.js';
import { Venues } from './venues/venues.js';

export interface RunSettings {
  /** How often each turn is measured. */
  readonly rounds: number;
  readonly effort: Omit<Effort, 'checks'>;
  /** The longest wait for other programs to become idle, before each round of a piece. */
  readonly patienceSeconds: number;
  /** How often a disturbed round is repeated. The least disturbed one counts. */
  readonly repetitions: number;
  /** A peer that prints no figure for this time counts as hung, and is killed. */
  readonly silenceSeconds: number;
  readonly machine: Machine;
  readonly onProgress: (message: string) => void;
}

/** Measures piece by piece, and yields the rows of a piece after all its rounds. @throws WrongResultError */
export async function* runSession(session: Session, settings: RunSettings): AsyncGenerator<Row | FailedRow> {
  const venues = new Venues(session.ranks, settings.silenceSeconds);
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

export function sizesOf(piece: Piece): string {
  const sizes = piece.flatMap(({ trials }) => trials.map(bytesOf));
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map(formatBytes);
  return least === most ? `${least}` : `${least} to ${most}`;
}

/** The measurements of one round of a piece. */
export interface Round {
  readonly measured: ReadonlyMap<Trial, Measurement>;
  readonly foreignLoad: number | undefined;
}

/** Measures all rounds of a piece at the venues of its turns. `failures` contains the failed trials. */
export async function takeRounds<T extends Turn>(
  piece: readonly T[],
  venueOf: (turn: T) => Venue,
  settings: Omit<RunSettings, 'machine' | 'silenceSeconds'>,
): Promise<{ readonly rounds: readonly Round[]; readonly failures: ReadonlyMap<Trial, string> }> {
  const rounds: Round[] = [];
  const failures: Failures = new Map();
  for (let round = 0; round < settings.rounds; round++) {
    const onProgress = (message: string) =>
      settings.onProgress(`round ${round + 1} of ${settings.rounds}${message && `, ${message}`}`);
    rounds.push(await takeRound(piece, venueOf, { ...settings, onProgress }, round === 0, failures));
  }
  return { rounds, failures };
}

/** The largest share of the machine that other programs used in a round; undefined if the system does not report it. */
export function foreignLoadOf(rounds: readonly Round[]): number | undefined {
  const loads = rounds.flatMap(({ foreignLoad }) => (foreignLoad === undefined ? [] : [foreignLoad]));
  return loads.length > 0 ? Math.max(...loads) : undefined;
}

async function* runPiece(piece: Piece, venues: Venues, settings: RunSettings): AsyncGenerator<Row | FailedRow> {
  const { rounds, failures } = await takeRounds(piece, ({ venue }) => venues.open(venue), settings);
  const findings = { machine: settings.machine, foreignLoad: foreignLoadOf(rounds) };
  const trials = piece.flatMap((turn) => turn.trials);
  for (const trial of trials.filter(({ engine }) => engine !== 'copy')) {
    const failure = failures.get(trial);
    if (failure === undefined) yield rowOf(trial, { ...findings, ...findingsOf(trial, trials, rounds) });
    else yield failedRowOf(trial, { ...findings, failure });
  }
}

/** Failed trials, which are not measured again, with the reasons. */
type Failures = Map<Trial, string>;

/** Measures all turns of a round, and repeats the round if other programs disturbed it. */
async function takeRound<T extends Turn>(
  piece: readonly T[],
  venueOf: (turn: T) => Venue,
  settings: Omit<RunSettings, 'machine' | 'silenceSeconds'>,
  checks: boolean,
  failures: Failures,
): Promise<Round> {
  const { effort, patienceSeconds, repetitions, onProgress } = settings;
  let best: Round | undefined;
  for (let attempt = 0; attempt <= repetitions; attempt++) {
    const isQuiet = await untilQuiet(patienceSeconds);
    const words = [attempt > 0 ? 'again' : '', isQuiet ? '' : 'while other programs are busy'];
    onProgress(words.filter(Boolean).join(', '));
    const load = watchForeignLoad();
    const measured = await takeTurns(piece, venueOf, { ...effort, checks: checks && attempt === 0 }, failures);
    const round: Round = { measured, foreignLoad: load() };
    if ((round.foreignLoad ?? 0) <= (best?.foreignLoad ?? Number.POSITIVE_INFINITY)) best = round;
    if ((round.foreignLoad ?? 0) <= tolerableLoad) break;
  }
  return best as Round;
}

async function takeTurns<T extends Turn>(
  piece: readonly T[],
  venueOf: (turn: T) => Venue,
  effort: Effort,
  failures: Failures,
): Promise<Map<Trial, Measurement>> {
  const all = new Map<Trial, Measurement>();
  for (const turn of piece) {
    const open = turn.trials.filter((trial) => !failures.has(trial));
    if (open.length === 0) continue;
    const measured = await venueOf(turn).measure(open, effort);
    for (const [index, trial] of open.entries()) {
      const measurement = measured[index] as Measurement;
      all.set(trial, measurement);
      if (measurement.failure !== undefined) failures.set(trial, measurement.failure);
    }
  }
  return all;
}

function findingsOf(
  trial: Trial,
  trials: readonly Trial[],
  rounds: readonly Round[],
): Pick<Findings, 'samples' | 'meanMicros' | 'copySamples' | 'boundSamples' | 'ticks' | 'hiddenShare' | 'besideMpi'> {
  const samplesOf = (wanted: Trial | undefined) =>
    wanted === undefined ? [] : rounds.flatMap(({ measured }) => [...(measured.get(wanted)?.samples ?? [])]);
  const alike = trials.filter((other) => bytesOf(other) === bytesOf(trial));
  return {
    samples: samplesOf(trial),
    meanMicros: meanOf(rounds.flatMap(({ measured }) => measured.get(trial)?.meanMicros ?? [])),
    copySamples: samplesOf(alike.find(({ engine }) => engine === 'copy')),
    boundSamples: samplesOf(alike.find(({ engine, input }) => engine === 'bound' && input === trial.input)),
    hiddenShare: hiddenShareOf(trial, trials, samplesOf),
    besideMpi: besideMpiOf(trial, alike, rounds),
    ticks: worstOf(rounds.flatMap(({ measured }) => measured.get(trial)?.ticks ?? [])),
  };
}

/**
 * The medians of this trial and of the C programs on the same number of bytes, by round; undefined outside
 * the suite `mpi`.
 */
function besideMpiOf(trial: Trial, alike: readonly Trial[], rounds: readonly Round[]): BesideMpi | undefined {
  const { library } = trial;
  if (library === undefined) return undefined;
  const medians = (wanted: Trial) =>
    rounds.flatMap(({ measured }) => {
      const samples = measured.get(wanted)?.samples ?? [];
      return samples.length === 0 ? [] : summarize([...samples]).median;
    });
  const of = (peer: PeerName) => medians(alike.find((other) => other.peer === peer) as Trial);
  const found = { own: medians(trial), program: of(`${library}-nonblocking`), blocking: of(library) };
  return Object.values(found).every(({ length }) => length > 0) ? found : undefined;
}

/** The time that overlap saves, as a share of the time of the all-reduce. */
function hiddenShareOf(
  trial: Trial,
  trials: readonly Trial[],
  samplesOf: (wanted: Trial | undefined) => readonly number[],
): number | undefined {
  const { work, engine, algorithm } = trial;
  if (work.type !== 'overlap' || work.order !== 'overlapped') return undefined;
  const median = (order: Overlap['order']) => {
    const isWanted = (other: Work) => other.type === 'overlap' && other.order === order && other.isBusy === work.isBusy;
    const found = trials.find(
      (other) => isWanted(other.work) && other.engine === engine && other.algorithm === algorithm,
    );
    return summarize(samplesOf(found)).median;
  };
  return (median('after') - median('overlapped')) / (median('after') - median('computed'));
}
