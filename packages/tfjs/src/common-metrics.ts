import { InvalidArgumentError, ValueError } from '@coll/core';
import { type Exchange, gatherValues, oddReplicas, type ReplicaInfo } from '@coll/strategy/internal';

/** What one replica knows at the end of an epoch or batch. */
export interface OwnMetrics {
  /** What ends, for example "epoch 3". */
  readonly of: string;
  readonly metrics: Readonly<Record<string, number>>;
  /** Rows that the metrics are the mean of; undefined if not known. */
  readonly rows: number | undefined;
  /** Rows that metrics of validation are the mean of; undefined if all replicas validate on the same. */
  readonly validationRows: number | undefined;
  readonly wantsStop: boolean;
}

/** What all replicas know at the end of an epoch or batch. */
export interface CommonMetrics {
  readonly metrics: Readonly<Record<string, number>>;
  /** Rows of all replicas; undefined if not known. */
  readonly rows: number | undefined;
  readonly stops: boolean;
}

/** The metrics of one replica as they are sent. JSON has no NaN and no infinity, so values are texts. */
interface Report {
  readonly of: string;
  readonly metrics: Readonly<Record<string, string>>;
  readonly rows: number | null;
  readonly validationRows: number | null;
  readonly wantsStop: boolean;
}

/**
 * Averages the metrics of all replicas, weighted by their rows. Metrics of validation (`val_…`) are
 * averaged only if the replicas give the rows that they validated on; if not, they must be equal.
 * @throws InvalidArgumentError or ValueError, the same on all replicas
 */
export function* commonMetrics(own: OwnMetrics, info: ReplicaInfo): Exchange<CommonMetrics> {
  const { of, rows = null, validationRows = null, wantsStop } = own;
  const metrics = Object.fromEntries(Object.entries(own.metrics).map(([name, value]) => [name, String(value)]));
  const reports = yield* gatherValues<Report>({ of, metrics, rows, validationRows, wantsStop }, info);
  requireSameNames(reports);
  const rowsOfAll = rowsOf(reports, 'rows');
  const validationRowsOfAll = rowsOf(reports, 'validationRows');
  const mean = (name: string): number => {
    const values = reports.map((report) => Number(report.metrics[name]));
    if (!name.startsWith('val_')) return weightedMean(values, rowsOfAll);
    if (!validationRowsOfAll) requireEqual(name, values, of);
    return validationRowsOfAll ? weightedMean(values, validationRowsOfAll) : (values[0] as number);
  };
  return {
    metrics: Object.fromEntries(Object.keys(own.metrics).map((name) => [name, mean(name)])),
    rows: rowsOfAll?.reduce((sum, each) => sum + each, 0),
    stops: reports.some((report) => report.wantsStop),
  };
}

/** The mean of values of which each counts as often as its weight. Default: equal weights. */
export function weightedMean(values: readonly number[], weights: readonly number[] = values.map(() => 1)): number {
  const counted = values.map((value, index) => ({ value, weight: weights[index] as number }));
  const present = counted.filter(({ weight }) => weight > 0);
  const { value: first } = (present[0] ?? counted[0]) as { value: number };
  // Equal values keep their bits.
  if (present.every(({ value }) => Object.is(value, first))) return first;
  const total = present.reduce((sum, { weight }) => sum + weight, 0);
  return present.reduce((sum, { value, weight }) => sum + value * weight, 0) / total;
}

function requireSameNames(reports: readonly Report[]): void {
  const describe = ({ of, metrics }: Report) =>
    `${of} with the metrics ${Object.keys(metrics).sort().join(' ') || 'none'}`;
  const texts = reports.map(describe);
  const odd = oddReplicas(texts);
  if (odd.length === 0) return;
  const usual = texts.find((_, replica) => !odd.includes(replica));
  const differing = odd.map((replica) => `replica ${replica} ends ${texts[replica]}`).join(', ');
  const advice = 'compile the model with the same metrics on all replicas, and train for the same epochs';
  const message = `replicas have different metrics: ${differing}, the others end ${usual}; ${advice}`;
  throw new InvalidArgumentError('ERR_COLL_MISMATCH', message, { rank: odd[0] });
}

/** A number of rows of each replica; undefined if no replica knows it. */
function rowsOf(reports: readonly Report[], name: 'rows' | 'validationRows'): readonly number[] | undefined {
  const rows = reports.map((report) => report[name]);
  const without = rows.indexOf(null);
  if (without < 0) return rows as number[];
  const given = rows.findIndex((each) => each !== null);
  if (given < 0) return undefined;
  const what = name === 'rows' ? 'the size of its batches (`logs.size` of onBatchEnd)' : 'validationRows';
  const message = `distributedCallbacks: replica ${given} gives ${what}, but replica ${without} does not; give it on all replicas`;
  throw new ValueError('ERR_COLL_VALUE', message, { rank: without });
}

/** Metrics of equal models on equal data differ by rounding only, if processors differ. */
const tolerance = 1e-5;

function requireEqual(name: string, values: readonly number[], of: string): void {
  const first = values[0] as number;
  const differs = (value: number) =>
    !Object.is(value, first) && !(Math.abs(value - first) <= tolerance * Math.max(Math.abs(value), Math.abs(first)));
  const rank = values.findIndex(differs);
  if (rank < 0) return;
  const message = `distributedCallbacks: ${name} differs between replicas at the end of ${of}: ${first} on replica 0, ${values[rank]} on replica ${rank}`;
  const advice =
    'if each replica validates on its own share, pass the option validationRows: rowsOf(share); if not, give all replicas the same validation data';
  throw new ValueError('ERR_COLL_VALUE', `${message}; ${advice}`, { rank });
}
