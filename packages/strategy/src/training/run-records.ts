import { rowKinds, rowWidth } from './run-recorder.js';
import { together } from './together.js';
import { TrainingMeter, type TrainingSummary, unmeasuredSteps } from './training-meter.js';

/** What the replicas of a run have done. */
export interface RunFigures {
  /** Measured steps of each replica; of a program that reports, those of the replica with most reports. */
  readonly steps: number;
  readonly stepsPerSecond: number;
  /** Samples of all replicas. Undefined if their number is not known. */
  readonly samplesPerSecond: number | undefined;
  /** The parts of the time, and the replica that computes longest. Undefined if collectives overlap with computations. */
  readonly shares: Shares | undefined;
}

type Shares = Pick<TrainingSummary, 'exchange' | 'waiting' | 'slowest' | 'slowestBy'>;

const noCollectives: Shares = { exchange: 0, waiting: 0, slowest: 0, slowestBy: 0 };

/** The part of a run that is not measured, because code is not compiled yet. */
const warmUp = 1 / 5;

/** The rows of one kind of a replica, as columns. */
interface Rows {
  readonly times: number[];
  readonly milliseconds: number[];
  readonly samples: number[];
}

type Kind = keyof typeof rowKinds;

/**
 * What all replicas of a run have recorded. A step is one of `trainingMeterOf`, or else a report with samples. Not measured are
 * the first three steps of each replica, and the first fifth of the time from the first step to the last.
 */
export class RunRecords {
  readonly #replicas: readonly Readonly<Record<Kind, Rows>>[];

  constructor(replicas: number) {
    this.#replicas = Array.from({ length: replicas }, () => ({
      step: noRows(),
      collective: noRows(),
      report: noRows(),
    }));
  }

  /** Adds what a `RunRecorder` has sent. */
  add(replica: number, rows: Float64Array): void {
    const kinds = Object.keys(rowKinds) as Kind[];
    for (let at = 0; at < rows.length; at += rowWidth) {
      const [kind, time, milliseconds, samples] = rows.subarray(at, at + rowWidth) as unknown as number[];
      const { [kinds[kind as number] as Kind]: columns } = this.#replicas[replica] as Record<Kind, Rows>;
      columns.times.push(time as number);
      columns.milliseconds.push(milliseconds as number);
      columns.samples.push(samples as number);
    }
  }

  /** Whether any replica has made a step. */
  get hasSteps(): boolean {
    return this.#countedTimes.some(({ length }) => length > 0);
  }

  /** The figures so far; undefined if some replica has made too few steps. */
  figures(): RunFigures | undefined {
    const times = this.#countedTimes.filter(({ length }) => length > 0);
    const [first, last] = [
      Math.min(...times.map(([time]) => time as number)),
      Math.max(...times.map((all) => all.at(-1) as number)),
    ];
    const from = first + warmUp * (last - first);
    return this.#all('step').some(({ times }) => times.length > 0) ? this.#ofSteps(from) : this.#ofReports(from);
  }

  get #countedTimes(): readonly (readonly number[])[] {
    return this.#replicas.flatMap(({ step, report }) => [step.times, report.times]);
  }

  #ofSteps(from: number): RunFigures | undefined {
    const measured = aligned(this.#all('step'), from);
    if (!measured) return undefined;
    const { steps, seconds, samples, isComplete } = measured;
    const samplesPerSecond = isComplete ? samples / seconds : rateOf(this.#all('report'), from)?.samplesPerSecond;
    return { steps, stepsPerSecond: steps / seconds, samplesPerSecond, shares: sharesOf(measured) };
  }

  #ofReports(from: number): RunFigures | undefined {
    const rate = rateOf(this.#all('report'), from);
    if (!rate) return undefined;
    const collectives = this.#all('collective');
    if (collectives.every(({ times }) => times.every((time) => time < from))) return { ...rate, shares: noCollectives };
    const measured = aligned(collectives, from);
    return measured && { ...rate, shares: sharesOf(measured) };
  }

  #all(kind: Kind): readonly Rows[] {
    return this.#replicas.map((rows) => rows[kind]);
  }
}

interface Measured extends TrainingSummary {
  /** Whether the samples of each row are known. */
  readonly isComplete: boolean;
}

/** The rows from this time on that all replicas have, as steps: the n-th ones of all replicas belong together. */
function aligned(all: readonly Rows[], from: number): Measured | undefined {
  const begin = Math.max(...all.map((rows) => beginOf(rows, from)));
  const end = Math.min(...all.map(({ times }) => times.length));
  if (end <= begin) return undefined;
  const summaries = all.map((rows, replica) =>
    replayed(rows, begin, end).summary({ numReplicasInSync: all.length, replicaIdInSyncGroup: replica }),
  );
  const [summary] = together(summaries);
  return (
    summary && { ...summary, isComplete: all.every(({ samples }) => !samples.slice(begin, end).some(Number.isNaN)) }
  );
}

/** A meter that has measured these rows. */
function replayed({ times, milliseconds, samples }: Rows, begin: number, end: number): TrainingMeter {
  let now = 0;
  const meter = new TrainingMeter(() => now);
  for (let at = begin - unmeasuredSteps; at < end; at++) {
    now = times[at] as number;
    meter.note(milliseconds[at] as number, samples[at]);
  }
  return meter;
}

/** The index of the first row to measure: it begins when the row before it ends. */
function beginOf({ times }: Rows, from: number): number {
  const first = times.findIndex((time) => time >= from);
  return first < 0 ? times.length : Math.max(first + 1, unmeasuredSteps);
}

/** Samples and reports per second; undefined if a replica that reports has made too few reports. */
function rateOf(all: readonly Rows[], from: number): Omit<RunFigures, 'shares'> | undefined {
  const reporting = all.filter(({ times }) => times.length > 0);
  const rates = reporting.map((rows) => {
    const begin = beginOf(rows, from);
    const seconds = ((rows.times.at(-1) as number) - (rows.times[begin - 1] as number)) / 1000;
    return { steps: rows.times.length - begin, seconds, samples: sumOf(rows.samples.slice(begin)) };
  });
  if (rates.length === 0 || rates.some(({ steps, seconds }) => steps < 1 || !(seconds > 0))) return undefined;
  const most = rates.reduce((best, rate) => (rate.steps > best.steps ? rate : best));
  const samplesPerSecond = sumOf(rates.map(({ samples, seconds }) => samples / seconds));
  return { steps: most.steps, stepsPerSecond: most.steps / most.seconds, samplesPerSecond };
}

function sharesOf({ exchange, waiting, slowest, slowestBy }: TrainingSummary): Shares | undefined {
  return Number.isNaN(exchange) ? undefined : { exchange, waiting, slowest, slowestBy };
}

function noRows(): Rows {
  return { times: [], milliseconds: [], samples: [] };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
