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

/** The case and size that a row is about, and the machine. */
export interface CaseRow extends Machine {
  readonly suite: SuiteName;
  readonly case: string;
  readonly engine: string;
  /** The part of coll's API that is called. Undefined for other libraries and yardsticks. */
  readonly level?: Level;
  /** How the ranks call coll; undefined for other libraries and yardsticks. */
  readonly form?: Form;
  readonly algorithm?: string;
  /** Another library. Undefined if coll or a yardstick is measured. */
  readonly peer?: string;
  readonly gradients?: string;
  /** The transport of coll's processes. Undefined if there are none. */
  readonly transport?: Transport;
  readonly memory?: Memory;
  readonly input: InputKind;
  readonly place: Place;
  readonly ranks: number;
  readonly bytes: number;
  /** The share of the machine that other programs used during the measurement. Undefined if the system does not report it. */
  readonly foreignLoad?: number;
}

/** A case without figures. */
export interface FailedRow extends CaseRow {
  /** The reason, for people. */
  readonly failure: string;
}

/** The figures of a case and size. */
export interface Row extends CaseRow {
  readonly medianMicros: number;
  /** The mean over the whole loop, including garbage collection. */
  readonly meanMicros: number;
  readonly minMicros: number;
  readonly p95Micros: number;
  readonly algGBs: number;
  readonly busGBs: number;
  /** The time in which one thread copies `bytes`, in the same run. */
  readonly copyMicros: number;
  /** `medianMicros` divided by `copyMicros`. */
  readonly copyRatio: number;
  /** The time in which a thread per rank updates `bytes` in place, in the same run. Undefined if it was not measured. */
  readonly boundMicros?: number;
  /** `boundMicros` divided by `medianMicros`: 1 is the speed of the memory. */
  readonly boundShare?: number;
  /** How many timers of 1 ms were due during the calls. Undefined if they were not counted. */
  readonly timers?: number;
  /** The share of the timers that fired at most 5 ms late, in the worst round and thread. */
  readonly onTimeShare?: number;
  readonly worstTimerMillis?: number;
  /** The share of the all-reduce time that overlap with a computation saves. Only in the suite `overlap`. */
  readonly hiddenShare?: number;
  /** The time of the C program that makes the same calls, in the same run: the median of the rounds' medians. Only in the suite `mpi`. */
  readonly programMicros?: number;
  /** The time of a call minus `programMicros`. */
  readonly overProgramMicros?: number;
  readonly programRatio?: number;
  /** The time of a call divided by the time of MPI's blocking call. */
  readonly blockingRatio?: number;
  readonly samples: number;
}

export function isMeasured<Measured extends object>(row: Measured | FailedRow): row is Measured {
  return !('failure' in row);
}

/** The machine during a measurement. */
interface Circumstances {
  readonly machine: Machine;
  readonly foreignLoad: number | undefined;
}

export interface Findings extends Circumstances {
  readonly samples: readonly number[];
  readonly meanMicros: number;
  readonly copySamples: readonly number[];
  /** Empty if the bound was not measured. */
  readonly boundSamples: readonly number[];
  readonly ticks: Ticks | undefined;
  readonly hiddenShare?: number | undefined;
  readonly besideMpi?: BesideMpi | undefined;
}

/** The median of each round: of the trial, of the C program that makes the same calls of MPI, and of the blocking call. */
export interface BesideMpi {
  readonly own: readonly number[];
  readonly program: readonly number[];
  readonly blocking: readonly number[];
}

export function rowOf(trial: Trial, findings: Findings): Row {
  const { ranks, work } = trial;
  const { samples, boundSamples, ticks, besideMpi } = findings;
  const { median, min, p95 } = summarize(samples);
  const copy = summarize(findings.copySamples).median;
  const bound = boundSamples.length === 0 ? undefined : summarize(boundSamples).median;
  const [own, program, blocking] = besideMpi
    ? [besideMpi.own, besideMpi.program, besideMpi.blocking].map((medians) => summarize(medians).median)
    : [];
  const bytes = bytesOf(trial);
  const kind: CollectiveKind = work.type === 'collective' ? work.kind : 'all-reduce';
  return rowWith<Row>({
    ...caseRowOf(trial, findings),
    medianMicros: rounded(median),
    meanMicros: rounded(findings.meanMicros),
    minMicros: rounded(min),
    p95Micros: rounded(p95),
    algGBs: rounded(algorithmGBs(bytes, median)),
    busGBs: rounded(busGBs(kind, ranks, bytes, median)),
    copyMicros: rounded(copy),
    copyRatio: rounded(median / copy),
    boundMicros: bound && rounded(bound),
    boundShare: bound && rounded(bound / median),
    timers: ticks?.count,
    onTimeShare: ticks && rounded(ticks.onTimeShare),
    worstTimerMillis: ticks && rounded(ticks.worstMillis),
    hiddenShare: findings.hiddenShare && rounded(findings.hiddenShare),
    programMicros: program && rounded(program),
    overProgramMicros: own && program && rounded(own - program),
    programRatio: own && program && rounded(own / program),
    blockingRatio: own && blocking && rounded(own / blocking),
    samples: samples.length,
  });
}

export function failedRowOf(trial: Trial, findings: Circumstances & Pick<FailedRow, 'failure'>): FailedRow {
  return { ...caseRowOf(trial, findings), failure: findings.failure };
}

/** The fields of a row that do not depend on the measured times. */
export function caseRowOf(trial: Trial, { machine, foreignLoad }: Circumstances): CaseRow {
  const { suite, name, engine, form, algorithm, peer, gradients, transport, memory, input, place, ranks } = trial;
  const bytes = bytesOf(trial);
  return rowWith<CaseRow>({
    ...{ suite, case: name, engine, level: levelOf(trial), form, algorithm, peer, gradients, transport, memory },
    ...{ input, place, ranks, bytes, foreignLoad: foreignLoad && rounded(foreignLoad) },
    ...machine,
  });
}

/** The row without its undefined fields. */
function rowWith<Some extends CaseRow>(fields: { readonly [Field in keyof Some]: Some[Field] | undefined }): Some {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as unknown as Some;
}

/** Timings are not more precise than five digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(5));
}
