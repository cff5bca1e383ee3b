import type { CollectiveKind } from '@coll/core';
import { algorithmGBs, busGBs } from '../bandwidth.js';
import { summarize } from '../statistics.js';
import { bytesOf, type InputKind, type SuiteName, type Trial } from '../trial.js';
import type { Machine } from './machine.js';

/** A line of the report: one case at one size, on one machine. */
export interface Row extends Machine {
  readonly suite: SuiteName;
  readonly case: string;
  readonly engine: string;
  readonly algorithm?: string;
  /** Only on rows that measure somebody else's library. */
  readonly peer?: string;
  readonly gradients?: string;
  readonly input: InputKind;
  readonly ranks: number;
  readonly bytes: number;
  readonly medianMicros: number;
  readonly minMicros: number;
  readonly p95Micros: number;
  readonly algGBs: number;
  readonly busGBs: number;
  /** A plain copy of as many bytes by one thread, in the same run. */
  readonly copyMicros: number;
  /** How many such copies a call takes. */
  readonly copyRatio: number;
  readonly samples: number;
  /** The share of the machine that other programs took meanwhile; absent where the system does not tell. */
  readonly foreignLoad?: number;
}

export interface Findings {
  readonly samples: readonly number[];
  readonly copySamples: readonly number[];
  readonly machine: Machine;
  readonly foreignLoad: number | undefined;
}

export function rowOf(trial: Trial, { samples, copySamples, machine, foreignLoad }: Findings): Row {
  const { suite, name, engine, algorithm, peer, input, ranks, work } = trial;
  const { median, min, p95 } = summarize(samples);
  const copy = summarize(copySamples).median;
  const bytes = bytesOf(trial);
  const kind: CollectiveKind = work.type === 'collective' ? work.kind : 'all-reduce';
  return {
    suite,
    case: name,
    engine,
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(peer === undefined ? {} : { peer }),
    ...(work.type === 'batch' ? { gradients: work.gradients } : {}),
    input,
    ranks,
    bytes,
    medianMicros: rounded(median),
    minMicros: rounded(min),
    p95Micros: rounded(p95),
    algGBs: rounded(algorithmGBs(bytes, median)),
    busGBs: rounded(busGBs(kind, ranks, bytes, median)),
    copyMicros: rounded(copy),
    copyRatio: rounded(median / copy),
    samples: samples.length,
    ...(foreignLoad === undefined ? {} : { foreignLoad: rounded(foreignLoad) }),
    ...machine,
  };
}

/** More digits would pretend to a precision that no timing has. */
function rounded(value: number): number {
  return Number(value.toPrecision(5));
}
