import {
  asTensor,
  IndexedSlices,
  Mirrored,
  PerReplica,
  RuntimeError,
  type Structure,
  type Tensor,
  tensorSymbol,
} from '@coll/core';
import { isMapping, mapStructure } from '@coll/core/internal';
import { Variable } from './variables/variable.js';

// Marks instances of classes, which would otherwise arrive as plain objects. The mark can be
// trusted, because only threads of this library post these values.
const classKey = '@coll/class';

/** Encodes a value for posting: structures of plain data, tensors, indexed slices and distributed values. */
export function encode(value: unknown): unknown {
  return mapStructure(value as Structure<unknown>, (leaf) => {
    if (leaf instanceof IndexedSlices) {
      return { [classKey]: 'IndexedSlices', values: leaf.values, indices: leaf.indices, denseShape: leaf.denseShape };
    }
    if (leaf instanceof Variable) throw variableStays(leaf);
    if (isReplicaContext(leaf)) throw contextStays();
    if (leaf instanceof PerReplica || leaf instanceof Mirrored)
      return { [classKey]: leaf.kind, values: leaf.values.map(encode) };
    // Posting would lose the method of a tensor carrier.
    return typeof leaf === 'object' && leaf !== null && tensorSymbol in leaf ? asTensor(leaf) : leaf;
  });
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

function isReplicaContext(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'replicaIdInSyncGroup' in value;
}

function contextStays(): RuntimeError {
  const told = 'a replica context cannot be sent to another thread: a replica must return values, not its context';
  return new RuntimeError('ERR_COLL_NOT_CLONEABLE', told);
}

function variableStays({ name }: Variable): RuntimeError {
  const cure = 'send the result of read(), and create a variable from it in the other thread';
  return new RuntimeError('ERR_COLL_NOT_CLONEABLE', `variable "${name}" cannot be sent to another thread: ${cure}`);
}
