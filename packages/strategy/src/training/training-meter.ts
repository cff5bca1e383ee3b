import { recorder } from '@coll/core/internal';
import type { TrainingTotals } from '../choice/strategy-log.js';
import type { Exchange, GradientOptions, ReplicaInfo } from './exchange.js';

/** What the steps of a training took, over all replicas. */
export interface TrainingSummary {
  /** Measured steps. The first three steps of a replica are not measured, because they compile code and compare weights. */
  readonly steps: number;
  /** Samples of all replicas in these steps; 0 if their number is not known. */
  readonly samples: number;
  /** From the beginning of the first measured step to the end of the last one. */
  readonly seconds: number;
  /** The part of this time in which gradients were exchanged, from 0 to 1. */
  readonly exchange: number;
  /** The part of this time in which replicas waited for others that were still computing, from 0 to 1. */
  readonly waiting: number;
  /** The replica whose computations took longest. */
  readonly slowest: number;
  /** How much longer they took than on average, for example 0.3 for 30 % longer. */
  readonly slowestBy: number;
  /** One sentence with these figures that says whether several replicas pay. */
  readonly verdict: string;
}

/** The first steps of a replica, which are not measured. */
export const unmeasuredSteps = 3;

/** How many of the latest steps are kept to tell waiting from exchange. */
const keptSteps = 512;

/** Measures the steps of one replica. */
export class TrainingMeter {
  /** Called with each step, also with those that are not measured. */
  onStep: ((reducing: number, samples: number | undefined) => void) | undefined;
  readonly #now: () => number;
  /** Milliseconds in the all-reduce of each of the latest steps. */
  readonly #latest = new Float64Array(keptSteps);
  #unmeasured = unmeasuredSteps;
  /** Since the meter was made, also those that are not measured. */
  #stepsMade = 0;
  #samplesSeen = 0;
  #steps = 0;
  #samples = 0;
  #reducing = 0;
  #begin: number;
  #end: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#begin = this.#end = now();
  }

  /** What this replica has measured since the latest restart. */
  get totals(): TrainingTotals {
    return { steps: this.#steps, millisReducing: this.#reducing, millis: this.#end - this.#begin };
  }

  /** Begins a new measurement. */
  restart(): void {
    this.#steps = this.#samples = this.#reducing = 0;
    this.#begin = this.#end = this.#now();
  }

  /**
   * Records a step, at the end of its all-reduce.
   * @param reducing milliseconds in the all-reduce
   * @param samples on this replica; undefined if not known
   */
  note(reducing: number, samples: number | undefined): void {
    this.onStep?.(reducing, samples);
    this.#stepsMade += 1;
    this.#samplesSeen += samples ?? 0;
    recorder?.progress(this.#stepsMade, this.#samplesSeen);
    if (this.#unmeasured > 0) {
      this.#unmeasured -= 1;
      this.restart();
      return;
    }
    this.#latest[this.#steps % keptSteps] = reducing;
    this.#steps += 1;
    this.#samples += samples ?? 0;
    this.#reducing += reducing;
    this.#end = this.#now();
  }

  /**
   * Compares the steps of all replicas since the latest restart. All replicas must have made the same number of steps.
   * Returns undefined if no step was measured.
   *
   * The last replica to reach an all-reduce does not wait in it, so the shortest time of all replicas is that of the
   * exchange. What the others need beyond it is waiting.
   */
  *summary({
    numReplicasInSync: replicas,
    replicaIdInSyncGroup: replica,
  }: ReplicaInfo): Exchange<TrainingSummary | undefined> {
    const kept = Math.min(this.#steps, keptSteps);
    if (kept === 0) return undefined;
    const own = this.#latest.subarray(0, kept);
    const shortest = own.map((milliseconds) => -milliseconds);
    yield { op: 'max', values: [shortest], into: [shortest] };
    const exchanging = -sumOf(shortest);
    const total = this.#end - this.#begin;
    const sums = new Float64Array(replicas + 4);
    sums[replica] = total - this.#reducing;
    sums.set([total, this.#reducing, sumOf(own), this.#samples], replicas);
    yield { op: 'sum', values: [sums], into: [sums] };
    const computing = sums.subarray(0, replicas);
    const [all, reducing, ofKept, samples] = sums.subarray(replicas) as unknown as [number, number, number, number];
    const share = Math.min(1, reducing / all);
    const exchange = ofKept === 0 ? 0 : (share * exchanging * replicas) / ofKept;
    const slowest = computing.indexOf(Math.max(...computing));
    const figures = {
      steps: this.#steps,
      samples,
      seconds: all / replicas / 1000,
      exchange,
      waiting: share - exchange,
      slowest,
      slowestBy: ((computing[slowest] as number) * replicas) / (sumOf(computing) || 1) - 1,
    };
    return { ...figures, verdict: verdictOf(figures, replicas) };
  }
}

/** Waiting for one replica is worth a word if it computes so much longer than the others. */
const muchSlower = 0.1;

/** Below this bound for the speed-up, overheads of a step that do not shrink with its batch mostly use up the gain. */
const worthwhile = 1.25;

/**
 * Whether several replicas pay. One replica computes at most `replicas` times as long, because overheads of a step do not
 * grow with the batch; so the bound for the speed-up holds for every program.
 */
function verdictOf(
  { steps, seconds, exchange, waiting, slowest, slowestBy }: Omit<TrainingSummary, 'verdict'>,
  replicas: number,
): string {
  const lost = exchange + waiting;
  const figures = `a step takes ${millisecondsText((1000 * seconds) / steps)}, ${percent(lost)} of it waiting and exchange`;
  const many = replicas === 2 ? 'two replicas' : `${replicas} replicas`;
  const bound = replicas * (1 - lost);
  const why =
    waiting > exchange && slowestBy > muchSlower
      ? `; the others wait for replica ${slowest}, which computes ${percent(slowestBy)} longer than the average`
      : '';
  const advice = why || '; larger batches will';
  if (bound < 1) return `${figures}: ${many} do not pay${advice}`;
  if (bound < worthwhile) return `${figures}: ${many} hardly pay${advice}`;
  return `${figures}: ${many} are at most ${bound.toFixed(1)} times as fast as one${why}`;
}

function millisecondsText(milliseconds: number): string {
  return `${milliseconds < 10 ? milliseconds.toPrecision(2) : Math.round(milliseconds)} ms`;
}

function percent(part: number): string {
  return `${Math.round(100 * part)} %`;
}

function sumOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}

// Kept as long as the context of the replica.
const meters = new WeakMap<ReplicaInfo, TrainingMeter>();

/** The measurement of this replica's steps. */
export function trainingMeterOf(context: ReplicaInfo): TrainingMeter {
  const known = meters.get(context) ?? new TrainingMeter();
  meters.set(context, known);
  return known;
}

/** These options, with a step of this replica recorded at the end of its all-reduce. */
export function metered<Options extends GradientOptions>(
  options: Options,
  context: ReplicaInfo,
  samples: () => number | undefined = () => undefined,
): Options {
  const meter = trainingMeterOf(context);
  const onAllReduce = (milliseconds: number) => {
    meter.note(milliseconds, samples());
    options.onAllReduce?.(milliseconds);
  };
  return { ...options, onAllReduce };
}
