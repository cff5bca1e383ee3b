import { watchForeignLoad } from '../bench/src/foreign-load.js';
import { machineName, thisMachine } from '../bench/src/report/machine.js';
import { summarize } from '../bench/src/statistics.js';
import { bundle, measuredPrograms, pagePrograms } from '../package-shape/bundle-size.ts';
import type { AllReduceCase, Course, Effort } from './fixtures/replica.ts';
import { openPlaces, type Place } from './places.ts';

export interface AllReduceFigure extends AllReduceCase {
  /** The median per call. */
  readonly micros: number;
}

/** What was measured in a page, or in a process of Node.js. */
export interface PlaceFigures {
  readonly name: string;
  readonly allReduce: readonly AllReduceFigure[];
  /** Medians of one and of two replicas. */
  readonly samplesPerSecond: readonly [one: number, two: number];
  /** Of two replicas. */
  readonly stepMillis: number;
  /** Whether both replicas always ended with the bits of the first place. */
  readonly hasSameWeights: boolean;
  /** While two replicas trained: the longest time in which the thread of the page handled no event. */
  readonly longestPauseMillis: number;
  readonly pausesOver50Millis: number;
  /** Undefined: the browser does not report them. */
  readonly longTasks?: number;
}

export interface Figures {
  readonly date: string;
  readonly machine: string;
  /** The share of the machine that other programs used meanwhile. Undefined if the system does not report it. */
  readonly foreignLoad?: number;
  readonly places: readonly PlaceFigures[];
  /** Compressed bytes of bundles. */
  readonly gzip: Readonly<Record<keyof typeof bundledPrograms, number>>;
}

const bundledPrograms = { enum: measuredPrograms.enum, wasm: measuredPrograms.wasm, ...pagePrograms };

const root = new URL('../..', import.meta.url).pathname;

const cases: readonly AllReduceCase[] = [4, 64 * 1024, 1024 ** 2, 16 * 1024 ** 2].flatMap((bytes) =>
  (['ordinary', 'allocated'] as const).map((memory) => ({ bytes, memory })),
);

interface Amount extends Effort, Course {
  readonly rounds: number;
}

const usual: Amount = {
  ...{ rounds: 3, warmUpMillis: 150, sampleMillis: 4, samples: 15 },
  ...{ batch: 1024, warmUpSteps: 1, steps: 4 },
};
const quick: Amount = { ...usual, rounds: 1, warmUpMillis: 20, samples: 3, batch: 256, steps: 2 };

/** Everything that is measured in one place, over all rounds. */
interface Observed {
  readonly samples: number[][];
  readonly rates: readonly [one: number[], two: number[]];
  readonly pauses: number[];
  longTasks: number | undefined;
  /** Hashes of the weights of two replicas. */
  readonly weights: number[];
}

/** Measures all places in turn, in each round. */
export async function measure(isQuick: boolean): Promise<Figures> {
  const amount = isQuick ? quick : usual;
  const places = await openPlaces();
  const observed = places.map((): Observed => {
    const samples = cases.map(() => []);
    return { samples, rates: [[], []], pauses: [], longTasks: undefined, weights: [] };
  });
  const foreignLoad = watchForeignLoad();
  let share: number | undefined;
  try {
    for (let round = 1; round <= amount.rounds; round += 1) {
      for (const [index, place] of places.entries()) await measureOnce(place, amount, observed[index] as Observed);
      console.error(`round ${round} of ${amount.rounds} is measured`);
    }
    // The times of processes that have ended are lost.
    share = foreignLoad();
  } finally {
    await Promise.all(places.map((place) => place[Symbol.asyncDispose]()));
  }
  const machine = thisMachine();
  const weights = observed[0]?.weights[0];
  return {
    date: machine.date.slice(0, 10),
    machine: machineName(machine),
    ...(share === undefined ? {} : { foreignLoad: share }),
    places: places.map(({ name }, index) => ({
      name,
      ...figuresOf(observed[index] as Observed, amount),
      hasSameWeights: (observed[index] as Observed).weights.every((hash) => hash === weights),
    })),
    gzip: await gzipOfBundles(),
  };
}

async function measureOnce(place: Place, amount: Amount, record: Observed): Promise<void> {
  const samples = await place.call('allReduce', place.engine, cases, amount);
  for (const [index, all] of record.samples.entries()) all.push(...(samples[index] as number[]));
  for (const replicas of [1, 2] as const) {
    const { trained, millis, longTasks } = await place.call('train', place.engine, replicas, amount);
    const seconds = Math.max(...trained.map((one) => one.seconds));
    record.rates[replicas - 1]?.push((amount.steps * amount.batch) / seconds);
    if (replicas === 1) continue;
    record.pauses.push(...millis);
    if (longTasks !== undefined) record.longTasks = (record.longTasks ?? 0) + longTasks;
    record.weights.push(...trained.map(({ weights }) => weights));
  }
}

function figuresOf({ samples, rates, pauses, longTasks }: Observed, amount: Amount) {
  const [one, two] = rates.map((all) => summarize(all).median) as [number, number];
  return {
    allReduce: cases.map((each, index) => ({ ...each, micros: summarize(samples[index] as number[]).median })),
    samplesPerSecond: [one, two] as const,
    stepMillis: (1000 * amount.batch) / two,
    longestPauseMillis: Math.max(0, ...pauses),
    pausesOver50Millis: pauses.filter((pause) => pause > 50).length,
    ...(longTasks === undefined ? {} : { longTasks }),
  };
}

async function gzipOfBundles(): Promise<Figures['gzip']> {
  const names = Object.keys(bundledPrograms) as (keyof typeof bundledPrograms)[];
  const sizes = names.map(async (name) => [name, (await bundle(bundledPrograms[name], root, 'browser')).gzip] as const);
  return Object.fromEntries(await Promise.all(sizes)) as Figures['gzip'];
}
