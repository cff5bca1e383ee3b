import { foreignLoadOf, type Round, type RunSettings, sizesOf, takeRounds } from '../run-session.js';
import { levelOf, type Piece, type Session, type Trial, type Turn } from '../trial.js';
import { type Comparison, compare, type Figures, type SeriesName, seriesNames } from './comparison.js';
import { Series } from './series.js';

/** The comparison of a case at one size. */
export interface ComparedTrial {
  readonly trial: Trial;
  readonly foreignLoad: number | undefined;
  /** Why there is no comparison, if a series failed. */
  readonly outcome: Comparison | { readonly failure: string };
}

/** The folders of the compiled benchmark program in both builds. */
export interface Builds {
  readonly before: string;
  readonly after: string;
}

/** A turn that one series measures. */
interface SeriesTurn extends Turn {
  readonly series: SeriesName;
}

/**
 * Measures the pieces of a session with both builds in turn; cases of other libraries are left
 * out. The comparisons of a piece are yielded after all its rounds.
 * @throws Error if a process of a series ends
 */
export async function* compareBuilds(
  session: Session,
  builds: Builds,
  settings: RunSettings,
): AsyncGenerator<ComparedTrial> {
  const { ranks, label } = session;
  const start = { ranks, silenceSeconds: settings.silenceSeconds };
  const open = (name: SeriesName) => {
    const build = name.startsWith('before') ? 'before' : 'after';
    return new Series(`the build ${build}`, builds[build], start);
  };
  const series = Object.fromEntries(seriesNames.map((name) => [name, open(name)])) as Record<SeriesName, Series>;
  try {
    for (const piece of session.pieces) {
      const turns = turnsToCompare(piece);
      if (turns.length === 0) continue;
      const onProgress = (message: string) =>
        settings.onProgress(`${label}, ${ranks} ranks, ${sizesOf(turns)}, ${message}`);
      const bySeries = turns.flatMap((turn) => seriesNames.map((name) => turnOf(turn, name)));
      const taken = await takeRounds(bySeries, (turn) => series[turn.series].venue(turn.venue), {
        ...settings,
        onProgress,
      });
      yield* comparisonsOf(turns, bySeries, taken);
    }
  } finally {
    await Promise.all(Object.values(series).map((it) => it.close()));
  }
}

/** The turns of a piece, without other libraries and yardsticks. */
export function turnsToCompare(piece: Piece): Turn[] {
  return piece
    .map((turn): Turn => ({ ...turn, trials: turn.trials.filter(isOurs) }))
    .filter(({ trials }) => trials.length > 0);
}

function isOurs(trial: Trial): boolean {
  const { work } = trial;
  const isAlone = 'memory' in work && (work.memory === 'alone' || work.memory === 'both-alone');
  return levelOf(trial) !== undefined && !isAlone;
}

/** Measurements are found by trial, so that each series needs trials of its own. */
function turnOf({ venue, trials }: Turn, series: SeriesName): SeriesTurn {
  return { venue, series, trials: trials.map((trial) => ({ ...trial })) };
}

function* comparisonsOf(
  turns: readonly Turn[],
  bySeries: readonly SeriesTurn[],
  { rounds, failures }: Awaited<ReturnType<typeof takeRounds>>,
): Generator<ComparedTrial> {
  const foreignLoad = foreignLoadOf(rounds);
  for (const [at, turn] of turns.entries()) {
    for (const [index, trial] of turn.trials.entries()) {
      const of = (offset: number) => bySeries[at * seriesNames.length + offset]?.trials[index] as Trial;
      const failed = seriesNames.findIndex((_, offset) => failures.has(of(offset)));
      if (failed >= 0) {
        const failure = `${seriesNames[failed]}: ${failures.get(of(failed))}`;
        yield { trial, foreignLoad, outcome: { failure } };
        continue;
      }
      const figures = seriesNames.map((name, offset) => [name, figuresOf(of(offset), rounds)] as const);
      yield { trial, foreignLoad, outcome: compare(Object.fromEntries(figures) as Record<SeriesName, Figures>) };
    }
  }
}

function figuresOf(trial: Trial, rounds: readonly Round[]): Figures {
  const measured = rounds.flatMap((round) => round.measured.get(trial) ?? []);
  return {
    samples: measured.flatMap(({ samples }) => [...samples]),
    means: measured.flatMap(({ meanMicros }) => meanMicros ?? []),
  };
}
