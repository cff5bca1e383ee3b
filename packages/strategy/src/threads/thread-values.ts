import {
  asTensor,
  IndexedSlices,
  isTensor,
  Mirrored,
  PerReplica,
  RuntimeError,
  type Structure,
  type Tensor,
  tensorSymbol,
  ValueError,
} from '@coll/core';
import { foreignTensorIn, isMapping, mapStructure, requireAttached } from '@coll/core/internal';
import { Variable } from '../variables/variable.js';
import { notCloneable } from './thread-messages.js';

// Marks instances of classes, which would otherwise arrive as plain objects. The mark can be
// trusted, because only threads of this library post these values.
const classKey = '@coll/class';

/** A value that can be posted, with memory that moves to the receiver instead of being copied twice. */
export interface Encoded {
  readonly value: unknown;
  readonly moved: readonly ArrayBuffer[];
}

// Below this size, copying an array twice is faster than moving a copy (measured in Node.js 20).
const leastMoved = 2 ** 16;

/**
 * Encodes a value for posting: structures of plain data, tensors, indexed slices and distributed
 * values. Of an array, only the bytes that it shows are posted, not the rest of its buffer. Shared
 * memory stays shared.
 */
export function encode(value: unknown): Encoded {
  const moved: ArrayBuffer[] = [];
  const arrays = new Map<ArrayBufferView, ArrayBufferView>();
  const posted = (array: ArrayBufferView): ArrayBufferView => {
    const known = arrays.get(array);
    if (known) return known;
    requireAttached(array);
    const own = withOwnMemory(array);
    arrays.set(array, own);
    if (own !== array) moved.push(own.buffer as ArrayBuffer);
    return own;
  };
  return { value: encodeWith(posted, value), moved };
}

/**
 * Encodes the arguments of all replicas.
 * @param transfer move the memory of all arrays instead of copying it, which detaches them here.
 * Default: false.
 * @throws RuntimeError for arguments that cannot be posted; ValueError for memory that cannot be
 * moved, because an array is only a part of it, or because it is used more than once
 */
export function encodeArguments(argsOfAll: readonly (readonly unknown[])[], transfer = false): readonly Encoded[] {
  const used = new Set<ArrayBuffer>();
  const encoded = argsOfAll.map((args) => (transfer ? encodeMoving(args, used) : encode(args)));
  try {
    for (const { value } of encoded) requireCloneable(value);
  } catch (cause) {
    throw notCloneable('an argument of a replica', cause);
  }
  return encoded;
}

function encodeMoving(value: unknown, used: Set<ArrayBuffer>): Encoded {
  const moved: ArrayBuffer[] = [];
  const posted = (array: ArrayBufferView): ArrayBufferView => {
    requireAttached(array);
    const { buffer, byteLength } = array;
    if (!(buffer instanceof ArrayBuffer)) return array;
    if (byteLength < buffer.byteLength) throw notMovable('an array is only a part of its buffer');
    if (used.has(buffer)) throw notMovable('several arguments or replicas use the same buffer');
    used.add(buffer);
    moved.push(buffer);
    return array;
  };
  return { value: encodeWith(posted, value), moved };
}

function notMovable(why: string): ValueError {
  const advice = 'give each replica its own arrays in a PerReplica, or omit transfer';
  return new ValueError('ERR_COLL_VALUE', `run: transfer cannot move the arguments, because ${why}: ${advice}`, {
    operation: 'run',
  });
}

/** @throws DOMException for a value that cannot be posted */
function requireCloneable(value: unknown): void {
  mapStructure(value as Structure<unknown>, (leaf) => {
    const isObject = typeof leaf === 'object' && leaf !== null;
    if (!isObject && typeof leaf !== 'function' && typeof leaf !== 'symbol') return;
    const data = isObject && isTensor(leaf) ? leaf.data : leaf;
    if (!ArrayBuffer.isView(data)) structuredClone(data);
  });
}

/** Encodes a value, with each of its arrays replaced by the array to post. */
function encodeWith(posted: (array: ArrayBufferView) => ArrayBufferView, value: unknown): unknown {
  const postedTensor = (tensor: Tensor) => ({ ...tensor, data: posted(tensor.data) });
  const encoded = (part: unknown): unknown =>
    mapStructure(part as Structure<unknown>, (leaf) => {
      if (ArrayBuffer.isView(leaf)) return posted(leaf);
      if (typeof leaf !== 'object' || leaf === null) return leaf;
      if (leaf instanceof IndexedSlices) {
        const { values, indices, denseShape } = leaf;
        const kept = { values: postedTensor(values), indices: postedTensor(indices), denseShape };
        return { [classKey]: 'IndexedSlices', ...kept };
      }
      if (leaf instanceof Variable) throw variableStays(leaf);
      if (isReplicaContext(leaf)) throw contextStays();
      if (leaf instanceof PerReplica || leaf instanceof Mirrored)
        return { [classKey]: leaf.kind, values: leaf.values.map(encoded) };
      // Posting would lose the method of a tensor carrier.
      if (tensorSymbol in leaf) return postedTensor(asTensor(leaf));
      if (isTensor(leaf) && ArrayBuffer.isView(leaf.data)) return postedTensor(leaf);
      const foreign = foreignTensorIn(leaf);
      if (foreign) throw foreignStays(foreign);
      return leaf;
    });
  return encoded(value);
}

/**
 * The array itself if it is small or shared, otherwise a copy. A small part of a larger buffer is
 * copied as well, because posting an array posts its whole buffer.
 */
function withOwnMemory(array: ArrayBufferView): ArrayBufferView {
  const { buffer, byteOffset, byteLength } = array;
  if (!(buffer instanceof ArrayBuffer)) return array;
  if (byteLength < leastMoved && byteLength === buffer.byteLength) return array;
  const copy = buffer.slice(byteOffset, byteOffset + byteLength);
  // The built-in class, because posting would drop a subclass, such as Buffer, as well.
  const builtIn = (array as DataView)[Symbol.toStringTag] as 'DataView';
  return new globalThis[builtIn](copy);
}

/** The inverse of `encode`. */
export function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode);
  if (!isMapping(value)) return value;
  const fields = value as { values: unknown; indices: Tensor; denseShape?: readonly number[] };
  switch (value[classKey]) {
    case 'IndexedSlices':
      return new IndexedSlices(fields.values as Tensor, fields.indices, fields.denseShape);
    case 'PerReplica':
      return new PerReplica((fields.values as unknown[]).map(decode));
    case 'Mirrored':
      return new Mirrored((fields.values as unknown[]).map(decode));
    default:
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item)]));
  }
}

function foreignStays(kind: string): RuntimeError {
  const advice = 'send its elements, await tensor.data() or tensor.dataSync(), and its shape';
  return new RuntimeError('ERR_COLL_NOT_CLONEABLE', `${kind} cannot be sent to another thread: ${advice}`);
}

function isReplicaContext(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'replicaIdInSyncGroup' in value;
}

function contextStays(): RuntimeError {
  const message = 'a replica context cannot be sent to another thread: a replica must return values, not its context';
  return new RuntimeError('ERR_COLL_NOT_CLONEABLE', message);
}

function variableStays({ name }: Variable): RuntimeError {
  const advice = 'send the result of read(), and create a variable from it in the other thread';
  return new RuntimeError('ERR_COLL_NOT_CLONEABLE', `variable "${name}" cannot be sent to another thread: ${advice}`);
}
