import type { CollectiveKind } from '@coll/core';
import { algorithmGBs, busGBs } from '../bandwidth.js';
import type { Transport } from '../peers/peers.js';
import { summarize } from '../statistics.js';
import type { Ticks } from '../ticking.js';
import {
  bytesOf,
  type Form,
  type InputKind,
  type Level,
  levelOf,
  type Memory,
  type Place,
  type SuiteName,
  type Trial,
} from '../trial.js';
import type { Machine } from './machine.js';

/** What a line of the report is about: one case at one size, on one machine. */
export interface CaseRow extends Machine {
  readonly suite: SuiteName;
  readonly case: string;
  readonly engine: string;
  /** What is called; only on rows that measure an engine of ours. */
  readonly level?: Level;
  /** Only on rows that measure an engine of ours. */
  readonly form?: Form;
  readonly algorithm?: string;
  /** Only on rows that measure somebody else's library. */
  readonly peer?: string;
  readonly gradients?: string;
  /** Only on rows that measure processes of ours. */
  readonly transport?: Transport;
  readonly memory?: Memory;
  readonly input: InputKind;
  readonly place: Place;
  readonly ranks: number;
  readonly bytes: number;
  /** The share of the machine that other programs took meanwhile; absent where the system does not tell. */
  readonly foreignLoad?: number;
}

/** A line about a case that has no figures. */
export interface FailedRow extends CaseRow {
  /** Why, for people. */
  readonly failure: string;
}

/** A line of figures. */
export interface Row extends CaseRow {
  readonly medianMicros: number;
  /** On average over the whole loop, what the garbage collector took included. */
  readonly meanMicros: number;
  readonly minMicros: number;
  readonly p95Micros: number;
  readonly algGBs: number;
  readonly busGBs: number;
  /** A plain copy of as many bytes by one thread, in the same run. */
  readonly copyMicros: number;
  /** How many such copies a call takes. */
  readonly copyRatio: number;
  /** The update in place of all ranks' bytes by a thread a rank, in the same run; absent where it was not measured. */
  readonly boundMicros?: number;
  /** `boundMicros` by the median: 1 is the speed of the memory. */
  readonly boundShare?: number;
  /** Timers of a millisecond that were due meanwhile, where they were counted. */
  readonly timers?: number;
  /** The share of them that came at most five milliseconds late, in the round and thread where it was least. */
  readonly onTimeShare?: number;
  readonly worstTimerMillis?: number;
  /** The share of an all-reduce's time that its overlap with a computation saves, where that was measured. */
  readonly hiddenShare?: number;
  /** Only in the suite `mpi`: the C program that makes the same calls, in the same run. Medians of the rounds' medians. */
  readonly programMicros?: number;
  /** Microseconds that a call takes more than `programMicros`, by the same medians. */
  readonly overProgramMicros?: number;
  readonly programRatio?: number;
  /** Times the median of the blocking call of MPI. */
  readonly blockingRatio?: number;
  readonly samples: number;
}

export function isMeasured<Measured extends object>(row: Measured | FailedRow): row is Measured {
  return !('failure' in row);
}

/** The engine and how it was called, for people. */
export function playerOf({ engine, form }: Pick<CaseRow, 'engine' | 'form'>): string {
  return form === undefined ? engine : `${engine} ${form}`;
}

/** Where and beside what something was measured. */
interface Circumstances {
  readonly machine: Machine;
  readonly foreignLoad: number | undefined;
}

export interface Findings extends Circumstances {
  readonly samples: readonly number[];
  readonly meanMicros: number;
  readonly copySamples: readonly number[];
  /** Empty where the bound was not measured. */
  readonly boundSamples: readonly number[];
  readonly ticks: Ticks | undefined;
  readonly hiddenShare?: number | undefined;
  /** Medians of each round: of the trial, of the C program that makes the same calls of MPI, and of the blocking call. */
  readonly besideMpi?: BesideMpi | undefined;
}

export interface BesideMpi {
  readonly own: readonly number[];
  readonly program: readonly number[];
  readonly blocking: readonly number[];
}

export function rowOf(trial: Trial, findings: Findings): Row {
  const { ranks, work } = trial;
  const { median, min, p95 } = summarize(findings.samples);
  const copy = summarize(findings.copySamples).median;
  const bytes = bytesOf(trial);
  const kind: CollectiveKind = work.type === 'collective' ? work.kind : 'all-reduce';
  return {
    ...caseOf(trial),
    medianMicros: rounded(median),
    meanMicros: rounded(findings.meanMicros),
    minMicros: rounded(min),
    p95Micros: rounded(p95),
    algGBs: rounded(algorithmGBs(bytes, median)),
    busGBs: rounded(busGBs(kind, ranks, bytes, median)),
    copyMicros: rounded(copy),
    copyRatio: rounded(median / copy),
    ...boundOf(findings.boundSamples, median),
    ...timersOf(findings.ticks),
    ...(findings.hiddenShare === undefined ? {} : { hiddenShare: rounded(findings.hiddenShare) }),
    ...besideMpiOf(findings.besideMpi),
    samples: findings.samples.length,
    ...circumstancesOf(findings),
  };
}

export function failedRowOf(trial: Trial, findings: Circumstances & Pick<FailedRow, 'failure'>): FailedRow {
  return { ...caseRowOf(trial, findings), failure: findings.failure };
}

/** The fields of a row that do not depend on what was measured. */
export function caseRowOf(trial: Trial, circumstances: Circumstances): CaseRow {
  return { ...caseOf(trial), ...circumstancesOf(circumstances) };
}

function caseOf(trial: Trial): Omit<CaseRow, keyof Machine | 'foreignLoad'> {
  const { suite, name, engine, form, algorithm, peer, gradients, transport, memory, input, place, ranks } = trial;
  const level = levelOf(trial);
  return {
    suite,
    case: name,
    engine,
    ...(level === undefined ? {} : { level }),
    ...(form === undefined ? {} : { form }),
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(peer === undefined ? {} : { peer }),
    ...(gradients === undefined ? {} : { gradients }),
    ...(transport === undefined ? {} : { transport }),
    ...(memory === undefined ? {} : { memory }),
    input,
    place,
    ranks,
    bytes: bytesOf(trial),
  };
}

function circumstancesOf({ machine, foreignLoad }: Circumstances): Machine & Pick<CaseRow, 'foreignLoad'> {
  return { ...(foreignLoad === undefined ? {} : { foreignLoad: rounded(foreignLoad) }), ...machine };
}

function boundOf(samples: readonly number[], micros: number): Pick<Row, 'boundMicros' | 'boundShare'> {
  if (samples.length === 0) return {};
  const bound = summarize(samples).median;
  return { boundMicros: rounded(bound), boundShare: rounded(bound / micros) };
}

function besideMpiOf(
  rounds: BesideMpi | undefined,
): Pick<Row, 'programMicros' | 'overProgramMicros' | 'programRatio' | 'blockingRatio'> {
  if (!rounds) return {};
  const [own, program, blocking] = [rounds.own, rounds.program, rounds.blocking].map(
    (medians) => summarize(medians).median,
  ) as [number, number, number];
  return {
    programMicros: rounded(program),
    overProgramMicros: rounded(own - program),
    programRatio: rounded(own / program),
    blockingRatio: rounded(own / blocking),
  };
}

function timersOf(ticks: Ticks | undefined): Pick<Row, 'timers' | 'onTimeShare' | 'worstTimerMillis'> {
  if (!ticks) return {};
  const { count, onTimeShare, worstMillis } = ticks;
  return { timers: count, onTimeShare: rounded(onTimeShare), worstTimerMillis: rounded(worstMillis) };
}

/** More digits would pretend to a precision that no timing has. */
function rounded(value: number): number {
  return Number(value.toPrecision(5));
}
