import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { type DType, isDType } from '../values/dtype.js';
import { isTensor, overlaps, type Tensor, validateTensor } from '../values/tensor.js';
import { type CallDetails, clashError } from './call-errors.js';
import {
  bufferLengths,
  type Collective,
  type CollectiveKind,
  collectiveKinds,
  collectiveOps,
  hasOneResult,
  inputBlocks,
  nameOf,
  opOf,
  outputBlocks,
  outputDType,
  reads,
  refusedArithmetic,
  rootOf,
  writes,
} from './collective.js';
import { rankError } from './failures.js';

/** A collective and the local ranks whose buffers are checked. */
export interface BufferCheck {
  readonly collective: Collective;
  readonly size: number;
  readonly localRanks: readonly number[];
  /** Whether all outputs may share one memory, as in `RunOptions`. */
  readonly sharedResult?: boolean | undefined;
}

const kindsWithRoot: readonly CollectiveKind[] = ['reduce', 'broadcast', 'gather', 'scatter'];
const kindsWithOp: readonly CollectiveKind[] = ['all-reduce', 'reduce', 'reduce-scatter'];

/**
 * The reason why no algorithm can run this collective in a group of `size` ranks; undefined if one
 * can.
 *
 * @example
 * ```ts
 * import { refusedCollective } from '@coll/core/plugin';
 *
 * const collective = { kind: 'all-reduce', op: 'mean' } as const;
 * console.log(refusedCollective(collective, 'float32', 4)); // undefined
 * console.log(refusedCollective(collective, 'bool', 4) === undefined); // false
 * ```
 */
export function refusedCollective(collective: Collective, dtype: DType, size: number): string | undefined {
  const { kind } = Object(collective) as Partial<Collective>;
  if (!isDType(dtype)) return `no dtype is called ${quote(dtype)}`;
  if (kind === undefined || !collectiveKinds.includes(kind))
    return `no collective is called ${quote(kind)}; there are ${collectiveKinds.join(', ')}`;
  const root = rootOf(collective) as number;
  if (kindsWithRoot.includes(kind) && !(Number.isInteger(root) && root >= 0 && root < size))
    return `root ${root} is not one of the ${size} ranks`;
  const op = opOf(collective);
  if (kindsWithOp.includes(kind) && op === undefined) return `${kind} needs an op: ${collectiveOps.join(', ')}`;
  return refusedArithmetic(op, dtype);
}

/** @throws ValueError unless `collective` is an object, and `inputs` and `outputs` are lists */
export function requireCall(collective: unknown, inputs: unknown, outputs: unknown): void {
  const isCollective = typeof collective === 'object' && collective !== null;
  if (isCollective && Array.isArray(inputs) && Array.isArray(outputs)) return;
  const wanted = "a collective, such as { kind: 'all-reduce', op: 'sum' }, a list of inputs and a list of outputs";
  const given = [collective, inputs, outputs].map(quote).join(', ');
  throw new ValueError('ERR_COLL_VALUE', `a communicator must be called with ${wanted}, got ${given}`);
}

/** @throws ValueError if a field of the collective has the wrong type */
export function requireCollective(collective: Collective): void {
  const { kind, op, root } = collective as { readonly kind?: unknown; readonly op?: unknown; readonly root?: unknown };
  const isNamed = typeof kind === 'string' && (op === undefined || typeof op === 'string');
  if (isNamed && (root === undefined || typeof root === 'number')) return;
  const given = `{ kind: ${quote(kind)}, op: ${quote(op)}, root: ${quote(root)} }`;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `in a collective, kind and op must be strings and root a number, got ${given}`,
  );
}

/** @throws ValueError unless `inputs` and `outputs` each have one entry per local rank */
export function requireCounts(
  { collective, localRanks }: BufferCheck,
  inputs: readonly unknown[],
  outputs: readonly unknown[],
): void {
  if (inputs.length === localRanks.length && outputs.length === localRanks.length) return;
  const operation = nameOf(collective);
  const given = `${inputs.length} inputs and ${outputs.length} outputs`;
  const message = `${given} for ${localRanks.length} local ranks; pass one input and one output per rank`;
  throw new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`, { operation });
}

/**
 * Checks the buffers of a call before any byte moves: their number, their memory, and the dtypes
 * and lengths across local ranks. No output may overlap another rank's buffer, except a shared
 * result. An output may overlap its own rank's input only if each output element shares memory with
 * the input element that it comes from; an all-to-all of several ranks does not allow any overlap.
 * @throws ValueError with the operation, and with the rank if the error concerns a single rank
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { validateBuffers } from '@coll/core/plugin';
 *
 * const check = { collective: { kind: 'all-gather' }, size: 2, localRanks: [0] } as const;
 * const [input, output] = [tensor([1, 2]), tensor([0, 0, 0, 0])];
 * validateBuffers(check, [input], [output]); // throws for another length of the output
 * ```
 */
export function validateBuffers(check: BufferCheck, inputs: readonly Tensor[], outputs: readonly Tensor[]): void {
  requireCounts(check, inputs, outputs);
  const { collective, size, localRanks, sharedResult } = check;
  for (let index = 0; index < localRanks.length; index++) {
    requireTensor(inputs[index], collective, localRanks[index] as number);
    requireTensor(outputs[index], collective, localRanks[index] as number);
  }
  const { dtype, count } = elementsOf(check, inputs, outputs);
  const resultDType = outputDType(collective, dtype);
  localRanks.forEach((rank, index) => {
    const [input, output] = [inputs[index] as Tensor, outputs[index] as Tensor];
    const lengths = bufferLengths(collective, count, size, rank);
    const fail = (problem: string) => bufferError(problem, { operation: nameOf(collective), rank });
    if (reads(collective, rank)) {
      if (input.dtype !== dtype) throw fail(`input is ${input.dtype}, others are ${dtype}`);
      if (input.data.length !== lengths.input)
        throw fail(`input has ${input.data.length} elements, others ${lengths.input}`);
    } else if (collective.kind === 'scatter' && input.data.length > 0) {
      throw fail(`input must be empty, because only the root has one; it has ${input.data.length} elements`);
    }
    if (!writes(collective, rank)) {
      if (collective.kind === 'reduce' || output.data.length === 0) return;
      throw fail(`output must be empty, because only the root gets one; it has ${output.data.length} elements`);
    }
    if (output.dtype !== resultDType) throw fail(`output is ${output.dtype}, must be ${resultDType}`);
    if (output.data.length !== lengths.output)
      throw fail(`output has ${output.data.length} elements, must have ${lengths.output}`);
    if (standsInPlace(collective, size, rank, input, output)) return;
    if (collective.kind === 'all-to-all') throw fail('output overlaps its own input: all-to-all does not run in place');
    throw fail('output overlaps its own input with an offset: an element may overlap only itself');
  });
  if (localRanks.length === 1) return;
  const isShared = sharedResult === true && isOneResult(collective, outputs);
  refuseClashes({ collective, localRanks, isShared }, inputs, outputs);
}

/** @throws ValueError, naming rank and operation, unless `buffer` is a valid tensor */
function requireTensor(buffer: unknown, collective: Collective, rank: number): void {
  if (!isTensor(buffer)) {
    const operation = nameOf(collective);
    const message = `a buffer must be a tensor, got ${quote(buffer)}; tensor(array) creates one`;
    throw new ValueError('ERR_COLL_BUFFER', `${operation}: ${message}`, { operation, rank });
  }
  try {
    validateTensor(buffer);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    const operation = nameOf(collective);
    const text = [`${operation}: rank `, rank, `: ${error.message}`];
    throw rankError(ValueError, error.code, text, { operation, rank, cause: error });
  }
}

function bufferError(problem: string, { operation, rank }: Required<CallDetails>): ValueError {
  const text = [`${operation}: rank `, rank, `: ${problem}`];
  return rankError(ValueError, 'ERR_COLL_BUFFER', text, { operation, rank });
}

/** Whether all outputs share one memory and the collective gives every rank the same result. */
function isOneResult(collective: Collective, outputs: readonly Tensor[]): boolean {
  const { buffer, byteOffset } = (outputs[0] as Tensor).data;
  const isSame = outputs.every(({ data }) => data.buffer === buffer && data.byteOffset === byteOffset);
  return isSame && hasOneResult(collective);
}

/**
 * The dtype of the buffers, and the elements per rank (`n` in the table of `Collective`): taken
 * from an input or, if no local rank reads its input, from an output.
 * @throws ValueError if the length of the input is not divisible by its number of blocks
 */
function elementsOf(
  { collective, size, localRanks }: BufferCheck,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): { readonly dtype: DType; readonly count: number } {
  const root = Math.max(0, localRanks.indexOf(rootOf(collective) ?? 0));
  if (reads(collective, localRanks[root])) {
    const { dtype, data } = inputs[root] as Tensor;
    const count = data.length / inputBlocks(collective, size);
    if (Number.isInteger(count)) return { dtype, count };
    const operation = nameOf(collective);
    const rank = localRanks[root] as number;
    throw bufferError(
      `the length of the input must be divisible by ${size}, the number of ranks, got ${data.length} elements`,
      { operation, rank },
    );
  }
  const { dtype, data } = outputs[0] as Tensor;
  return { dtype, count: data.length / outputBlocks(collective, size) };
}

/**
 * Whether input and output do not overlap, or each output element shares memory with the input
 * element it comes from.
 */
function standsInPlace(collective: Collective, size: number, rank: number, input: Tensor, output: Tensor): boolean {
  if (!reads(collective, rank) || !overlaps(input.data, output.data)) return true;
  const { kind } = collective;
  if (kind === 'all-to-all' && size > 1) return false;
  const blocks = outputBlocks(collective, size) - inputBlocks(collective, size);
  const block = Math.min(input.data.byteLength, output.data.byteLength);
  const shift = Math.sign(blocks) * block * rank;
  return input.dtype === output.dtype && input.data.byteOffset === output.data.byteOffset + shift;
}

/** A collective whose local ranks may use the same memory. */
interface ClashCheck {
  readonly collective: Collective;
  readonly localRanks: readonly number[];
  /** Whether all ranks share one output. */
  readonly isShared: boolean;
}

/** @throws ValueError if a local rank writes memory that another one uses */
export function refuseClashes(
  { collective, localRanks, isShared }: ClashCheck,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  for (let index = 0; index < localRanks.length; index++) {
    const rank = localRanks[index] as number;
    if (!writes(collective, rank)) continue;
    const { data } = outputs[index] as Tensor;
    for (let position = 0; position < localRanks.length; position++) {
      const other = localRanks[position] as number;
      if (position === index) continue;
      const isClash =
        (reads(collective, other) && overlaps(data, (inputs[position] as Tensor).data)) ||
        (!isShared && writes(collective, other) && overlaps(data, (outputs[position] as Tensor).data));
      if (isClash) throw clashError(nameOf(collective), rank, other);
    }
  }
}
