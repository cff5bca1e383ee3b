import { type RunResult, replicasText } from './try-outcome.js';

/** A measured run, compared with the first one. */
export interface Row extends RunResult {
  /** What is compared: samples per second, or steps per second times replicas. */
  readonly rate: number;
  /** `rate` over that of the first run. */
  readonly speedUp: number;
}

/** Whether several replicas pay, and why. */
export interface Judgement {
  /** What is compared. Steps of all replicas are compared if the samples of some run are not known. */
  readonly unit: 'samples' | 'steps';
  readonly rows: readonly Row[];
  /** The number of replicas of the fastest run. */
  readonly fastest: number;
  /** The number of replicas from which on more do not pay; undefined if all pay. */
  readonly noGainFrom: number | undefined;
  readonly verdict: string;
  /** What else must be known to read the figures. */
  readonly notes: readonly string[];
}

/** Two runs of the same program may differ by so much. */
const gain = 1.1;
/** A share of the time, or of the cores, that is worth a word. */
const notable = 0.1;
/** Cores are in use if so large a part of them is busy. */
const full = 0.85;

/** Judges runs with growing numbers of replicas, on so many cores. */
export function judged(results: readonly RunResult[], cores: number): Judgement {
  const unit = results.every(({ samplesPerSecond }) => samplesPerSecond !== undefined) ? 'samples' : 'steps';
  const rateOf = ({ samplesPerSecond, stepsPerSecond, replicas }: RunResult) =>
    unit === 'samples' ? (samplesPerSecond as number) : stepsPerSecond * replicas;
  const first = rateOf(results[0] as RunResult);
  const rows = results.map((result) => ({ ...result, rate: rateOf(result), speedUp: rateOf(result) / first }));
  const fastest = fastestOf(rows);
  const at = rows.findIndex((_, index) => {
    if (index === 0) return false;
    const before = fastestOf(rows.slice(0, index));
    return rows.slice(index).every(({ rate }) => rate < gain * before.rate);
  });
  const noGain = rows[at];
  const why = noGain && reasonOf(noGain, rows[at - 1] as Row, cores);
  return {
    unit,
    rows,
    fastest: fastest.replicas,
    noGainFrom: noGain?.replicas,
    verdict: verdictOf({ rows, fastest, noGain, why, cores }),
    notes: [...ofSteps(unit), ...ofGrowingBatch(rows, unit), ...ofForeign(rows), ...rows.flatMap(ofRun)],
  };
}

function fastestOf(rows: readonly Row[]): Row {
  return rows.reduce((best, row) => (row.rate > best.rate ? row : best));
}

interface Findings {
  readonly rows: readonly Row[];
  readonly fastest: Row;
  readonly noGain: Row | undefined;
  readonly why: string | undefined;
  readonly cores: number;
}

function verdictOf({ rows, fastest, noGain, why, cores }: Findings): string {
  const [first] = rows as readonly [Row];
  const base = replicasText(first.replicas);
  if (rows.length === 1)
    return `only ${base} ran, so there is nothing to compare; this machine has ${coresText(cores)}`;
  const isDisturbed = noGain !== undefined && noGain.foreign > notable;
  if (fastest === first && isDisturbed) return `whether more than ${base} pay is not known: ${why}`;
  if (fastest === first) return `more than ${base} do not pay: ${why}`;
  const speedUp = `${replicasText(fastest.replicas)} are fastest, ${fastest.speedUp.toFixed(2)} times as fast as ${base}`;
  if (noGain === rows[1]) return `more than ${base} hardly pay: ${speedUp}; ${why}`;
  if (noGain) return `${speedUp}; from ${noGain.replicas} replicas on, more do not pay: ${why}`;
  const efficiency = (fastest.speedUp * first.replicas) / fastest.replicas;
  return efficiency > 1 - notable ? speedUp : `${speedUp}; the rest is lost: ${reasonOf(fastest, first, cores)}`;
}

/** Why a run is not as many times as fast as one with fewer replicas as it has more replicas. */
function reasonOf(row: Row, fewer: Row, cores: number): string {
  const { replicas, shares, foreign, coresBusy } = row;
  if (foreign > notable) return `other programs used ${percent(foreign)} of the cores meanwhile`;
  if (replicas > cores) return `this machine has ${coresText(cores)}`;
  const isFull = fewer.coresBusy > full * cores;
  if (isFull)
    return `${replicasText(fewer.replicas)} already kept ${fewer.coresBusy.toFixed(1)} of ${coresText(cores)} busy`;
  const { exchange, waiting, slowest, slowestBy } = shares ?? { exchange: 0, waiting: 0, slowest: 0, slowestBy: 0 };
  if (waiting > exchange && waiting > notable) {
    const one = `replica ${slowest}, which computes ${percent(slowestBy)} longer than the average`;
    return `replicas wait ${percent(waiting)} of the time for ${slowestBy > notable ? one : 'each other'}`;
  }
  if (exchange > notable) return `exchange takes ${percent(exchange)} of the time; larger batches need less of it`;
  const slower = fewer.rate / computingOf(fewer) / (row.rate / computingOf(row)) - 1;
  const busy = `${coresBusy.toFixed(1)} of ${coresText(cores)} were busy`;
  return `each replica computes ${percent(slower)} longer for the same work than one of ${replicasText(fewer.replicas)}, because it has parts that do not shrink with the batch, or shares memory and cores with others; ${busy}`;
}

/** How many replicas compute at a time. */
function computingOf({ replicas, shares }: Row): number {
  return replicas * (1 - (shares ? shares.exchange + shares.waiting : 0));
}

function ofSteps(unit: Judgement['unit']): readonly string[] {
  if (unit === 'samples') return [];
  return [
    'the number of samples is not known, so steps of all replicas are compared, as if each replica had the same batch in all runs; ' +
      'if replicas share one batch instead, compare the steps per second',
  ];
}

/** Samples of a step of all replicas; undefined if not known. */
export function samplesPerStep({ samplesPerSecond, stepsPerSecond }: RunResult): number | undefined {
  return samplesPerSecond === undefined ? undefined : samplesPerSecond / stepsPerSecond;
}

function ofGrowingBatch(rows: readonly Row[], unit: Judgement['unit']): readonly string[] {
  const [first, last] = [rows[0], rows.at(-1)] as [Row, Row];
  const [few, many] = [samplesPerStep(first) ?? 0, samplesPerStep(last) ?? 0];
  if (unit === 'steps' || !(many > gain * few)) return [];
  const samples = `${count(few)} with ${replicasText(first.replicas)}, ${count(many)} with ${replicasText(last.replicas)}`;
  return [
    `samples of a step: ${samples}; the batch grows with the replicas, which changes the training; to keep it, give each replica its part of one batch`,
  ];
}

function ofForeign(rows: readonly Row[]): readonly string[] {
  const most = Math.max(...rows.map(({ foreign }) => foreign));
  if (most <= notable) return [];
  return [`other programs used up to ${percent(most)} of the cores, so the figures say little`];
}

function ofRun({ replicas, endedEarly, shares }: Row): readonly string[] {
  const run = `in the run with ${replicasText(replicas)}`;
  return [
    ...(endedEarly
      ? [`${run}, the module returned before the time was over; what it did until then was measured`]
      : []),
    ...(shares ? [] : [`${run}, collectives overlap with computations, so their share of the time is not known`]),
  ];
}

export function percent(part: number): string {
  return `${Math.round(100 * part)} %`;
}

export function count(value: number): string {
  return (value < 10 ? Number(value.toPrecision(2)) : Math.round(value)).toLocaleString('en');
}

function coresText(cores: number): string {
  return cores === 1 ? '1 core' : `${cores} cores`;
}
