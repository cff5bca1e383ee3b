import { InvalidArgumentError, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';
import type { ReplicaContext } from '@coll/strategy';
import type { Exchange } from './exchange.js';
import { isCarried, type TfVariable } from './tensorflow.js';

export type Place = Pick<ReplicaContext, 'numReplicasInSync' | 'replicaIdInSyncGroup'>;

/** @throws ValueError unless `context` is the context of a replica and has the method `method` */
export function requireContext(context: unknown, method: keyof ReplicaContext, operation: string): void {
  const given = Object(context) as Partial<ReplicaContext>;
  const isPlace = Number.isInteger(given.numReplicasInSync) && Number.isInteger(given.replicaIdInSyncGroup);
  if (isPlace && typeof given[method] === 'function') return;
  const told = `context must be the replica context that strategy.run passes to each replica, with the method ${method}, got ${quote(context)}`;
  throw new ValueError('ERR_COLL_VALUE', `${operation}: ${told}`);
}

interface Description {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
}

/**
 * Checks that dtypes and shapes of variables are equal on all replicas, in list order. Names may
 * differ, because TensorFlow.js numbers layers separately in each process. If all replicas agree,
 * this takes a single all-reduce of two numbers.
 * @throws InvalidArgumentError, the same on all replicas, with the first variable that differs and
 * its description on each replica; ValueError for dtypes that cannot be sent
 */
export function* requireSameVariables(variables: readonly TfVariable[], place: Place): Exchange<void> {
  const odd = variables.find(({ dtype }) => !isCarried(dtype));
  if (odd)
    throw new ValueError(
      'ERR_COLL_VALUE',
      `the dtype of variable "${odd.name}" must be float32, int32 or bool, got ${odd.dtype}`,
    );
  const hash = hashOf(JSON.stringify(variables.map(({ dtype, shape }) => [dtype, shape])));
  const extremes = Float64Array.of(hash, -hash);
  yield { op: 'max', values: [extremes], into: [extremes] };
  const [most, leastNegated] = extremes as unknown as [number, number];
  if (most === -leastNegated) return;
  const descriptions = variables.map(({ name, dtype, shape }): Description => ({ name, dtype, shape }));
  const texts = yield* gatherTexts(JSON.stringify(descriptions), place);
  throw differenceOf(texts.map((text): Description[] => JSON.parse(text)));
}

/**
 * Sends the text of each replica to all replicas. Returns all texts in replica order. Uses
 * all-reduces because, unlike a gather, they exist in a blocking and an asynchronous form.
 */
function* gatherTexts(text: string, { numReplicasInSync, replicaIdInSyncGroup }: Place): Exchange<string[]> {
  const bytes = new TextEncoder().encode(text);
  const longest = Float64Array.of(bytes.length);
  yield { op: 'max', values: [longest], into: [longest] };
  const width = longest[0] as number;
  const rows = new Uint8Array(width * numReplicasInSync);
  rows.set(bytes, width * replicaIdInSyncGroup);
  yield { op: 'sum', values: [rows], into: [rows] };
  return Array.from({ length: numReplicasInSync }, (_, replica) => {
    const row = rows.subarray(width * replica, width * (replica + 1));
    const end = row.indexOf(0);
    return new TextDecoder().decode(end < 0 ? row : row.subarray(0, end));
  });
}

function differenceOf(lists: readonly (readonly Description[])[]): InvalidArgumentError {
  const first = lists[0] as readonly Description[];
  const formOf = (variable: Description | undefined) => JSON.stringify([variable?.dtype, variable?.shape]);
  const differs = (list: readonly Description[], index: number) => formOf(list[index]) !== formOf(first[index]);
  const length = Math.max(...lists.map((list) => list.length));
  const index = Array.from({ length }, (_, at) => at).findIndex((at) => lists.some((list) => differs(list, at)));
  const rank = lists.findIndex((list) => differs(list, index));
  const told = lists.map((list, replica) => `${tell(list[index])} on replica ${replica}`).join(', ');
  return new InvalidArgumentError(
    'ERR_COLL_MISMATCH',
    `replicas train different models: variable ${index} is ${told}`,
    { rank },
  );
}

function tell(variable: Description | undefined): string {
  return variable ? `"${variable.name}", ${variable.dtype} [${variable.shape}],` : 'missing';
}

/** Computes a 53-bit hash of a text (cyrb53), which a float64 represents exactly. */
function hashOf(text: string): number {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 2654435761);
    high = Math.imul(high ^ code, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return 2 ** 32 * (high & 0x1fffff) + (low >>> 0);
}
