import { InvalidArgumentError, NotImplementedError, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import { logFirst } from '@coll/core/plugin';
import { type Exchange, nearestMultiples, type ReplicaInfo } from '@coll/strategy/internal';
import type { BatchLogs } from './present-step.js';
import { isTensor } from './tables.js';
import { givenSharesOf, type Share, sharesIn } from './uneven-shares.js';

/** The batch size of `fit` without `batchSize`. */
const usualBatchSize = 32;

/** The arguments of `model.fit` that matter for shares. */
export interface FitArguments {
  readonly batchSize?: number;
  readonly epochs?: number;
  readonly initialEpoch?: number;
  readonly shuffle?: boolean | string;
  readonly sampleWeight?: unknown;
  readonly validationSplit?: number;
  readonly validationData?: unknown;
}

/** A call of `model.fit`. */
export interface FitCall {
  readonly x: unknown;
  readonly y: unknown;
  readonly args: FitArguments;
}

/** A call of `model.fit` with a share of which the last row is a repeated one. */
export interface PaddedFit {
  /** Rows that `fit` trains on in each epoch, and how many of them are the replica's own. */
  readonly rows: number;
  readonly own: number;
  /** Rows of the present epoch that earlier steps have used. */
  used: number;
  /** What the callbacks of the present step get. */
  logs: BatchLogs | undefined;
}

/**
 * Checks a call of `model.fit` before its first step. Returns its padding, if it trains on rows in order and the last
 * one is not the replica's own.
 * @throws ValueError for a global batch that does not divide, and for shares of different data; NotImplementedError for sample weights;
 * InvalidArgumentError on all replicas if they would make different numbers of steps
 * @param run executes a collective
 */
export function checkedFit(
  { x, y, args }: FitCall,
  context: ReplicaInfo,
  run: (steps: Exchange<void>) => void,
): PaddedFit | undefined {
  if (args.sampleWeight !== undefined && args.sampleWeight !== null) {
    const message = 'sampleWeight is not implemented by TensorFlow.js 4; use classWeight, or a loop of your own';
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', `fit: ${message}`, { operation: 'fit' });
  }
  const batchSize = args.batchSize ?? usualBatchSize;
  if (args.batchSize === undefined || args.batchSize === null) noteUsualBatch(context);
  requireWholeBatch(batchSize, context);
  const given = rowsOfInput(x);
  // TensorFlow.js itself refuses data without rows.
  if (given === undefined) return undefined;
  const rows = trainingRows(given, args);
  requireEqualSteps(rows, { ...args, batchSize }, run);
  const shares = [x, y].flatMap((each) => sharesIn(each));
  requireSameTotal(shares);
  if (args.shuffle !== false) return undefined;
  const own = shares[0]?.own;
  if (own !== undefined) return own < rows ? { rows, own, used: 0, logs: undefined } : undefined;
  if (!givenSharesOf(context).padded.has(given)) return undefined;
  const message = `x must be what shareOf has returned, because some replicas repeat a row in shares of ${given} rows and \`shuffle: false\` leaves it out`;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `fit: ${message}; change the data before you share it, or share it with { remainder: 'drop' }`,
    { operation: 'fit' },
  );
}

/** How many rows of the next batch are the replica's own. */
export function ownRowsOfBatch(fit: PaddedFit, rows: number): number {
  const own = Math.max(0, Math.min(rows, fit.own - fit.used));
  fit.used = (fit.used + rows) % fit.rows;
  if (fit.logs) fit.logs.size = own;
  return own;
}

/** Says once that the global batch is larger than that of the same call in one thread. */
function noteUsualBatch({ numReplicasInSync: replicas, replicaIdInSyncGroup: replica }: ReplicaInfo): void {
  if (replica !== 0) return;
  const message =
    `fit: without batchSize, each of ${replicas} replicas takes ${usualBatchSize} rows per step, ${usualBatchSize * replicas} in all; ` +
    `to train like one replica, set batchSize to ${usualBatchSize} / context.numReplicasInSync`;
  logFirst(1, 'fit without batchSize', 'warn', message);
}

/** @throws ValueError for a part of a global batch that is not whole */
function requireWholeBatch(batchSize: number, { numReplicasInSync: replicas }: ReplicaInfo): void {
  if (Number.isInteger(batchSize)) return;
  const global = Math.round(batchSize * replicas);
  if (!(Math.abs(batchSize * replicas - global) < 1e-6 && global > 0)) return;
  const message = `the global batch must be a multiple of ${replicas}, one part per replica, got ${global}`;
  throw new ValueError('ERR_COLL_VALUE', `fit: ${message}; use ${nearestMultiples(global, replicas)}`, {
    operation: 'fit',
  });
}

/** Rows without those that `fit` validates on. */
function trainingRows(rows: number, { validationSplit: split = 0, validationData }: FitArguments): number {
  const isSplit = (validationData === undefined || validationData === null) && split > 0 && split < 1;
  return isSplit ? Math.floor(rows * (1 - split)) : rows;
}

/** @throws InvalidArgumentError on all replicas if they would make different numbers of steps */
function requireEqualSteps(
  rows: number,
  { batchSize = usualBatchSize, epochs = 1, initialEpoch = 0 }: FitArguments,
  run: (steps: Exchange<void>) => void,
): void {
  const steps = Math.ceil(rows / batchSize) * (epochs - initialEpoch);
  const extremes = Float64Array.of(steps, -steps);
  run(extremesOf(extremes));
  const [most, least] = [extremes[0] as number, -(extremes[1] as number)];
  if (most === least) return;
  throw new InvalidArgumentError(
    'ERR_COLL_MISMATCH',
    `fit: all replicas must make the same number of steps, got ${least} to ${most}; ` +
      'give replicas equally many rows by shareOf(tf, data, context), and the same batchSize and epochs',
    { operation: 'fit' },
  );
}

function* extremesOf(values: Float64Array): Exchange<void> {
  yield { op: 'max', values: [values], into: [values] };
}

/**
 * Shares of, for example, 25 and 26 rows over two replicas have 13 rows each, but their rows do not belong together.
 * @throws ValueError if they are shares of data with different numbers of rows
 */
function requireSameTotal(shares: readonly Share[]): void {
  const totals = [...new Set(shares.map(({ total }) => total))];
  if (totals.length <= 1) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `fit: x and y must be shares of data with the same number of rows, got shares of ${totals.join(' and ')} rows`,
    { operation: 'fit' },
  );
}

/** The rows of an input of a model: a tensor, or a list or object of tensors. */
function rowsOfInput(x: unknown): number | undefined {
  const first = isTensor(x) ? x : Object.values(Object(x))[0];
  return isTensor(first) ? first.shape[0] : undefined;
}

/** @throws ValueError unless `own` is how many rows of a batch can be the replica's own */
export function requireOwnRows(own: number, rows: number): void {
  if (Number.isInteger(own) && own >= 0 && own <= rows) return;
  const message = `the samples of a step must be a whole number from 0 to the ${rows} rows of its batch, got ${quote(own)}`;
  throw new ValueError('ERR_COLL_VALUE', `trainOnBatch: ${message}`, { operation: 'trainOnBatch' });
}
