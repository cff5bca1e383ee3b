import { DistributedValues, Mirrored, PerReplica } from './distributed-values.js';
import { WrongTypeError } from './errors.js';
import { mapStructure, type Structure, zipStructures } from './structure.js';

export interface RegroupOptions {
  /** What differing leaves are wrapped in. Default: `PerReplica`. */
  readonly wrapClass?: new (
    values: readonly unknown[],
  ) => DistributedValues;
  /** Wrap leaves that are identical on all replicas, too. */
  readonly alwaysWrap?: boolean;
}

/**
 * One structure from one structure a replica. Leaves that are the identical object (or equal primitives) on all replicas
 * stay bare, so with one replica nothing is wrapped.
 * @throws AssertionError where the structures differ in form.
 */
export function regroup(
  values: readonly Structure<unknown>[],
  { wrapClass = PerReplica, alwaysWrap = false }: RegroupOptions = {},
): Structure<unknown> {
  return zipStructures(values, (leaves) => {
    const [first] = leaves;
    const identical = leaves.every((leaf) => Object.is(leaf, first));
    return identical && !alwaysWrap ? first : new wrapClass(leaves);
  });
}

/** The part of a structure that replica `replica` sees: its component of distributed values, everything else as it is. */
export function selectReplica(replica: number, structure: Structure<unknown>): Structure<unknown> {
  return mapStructure(structure, (leaf) => (leaf instanceof DistributedValues ? leaf.values[replica] : leaf));
}

/** `selectReplica` for what is the same everywhere. @throws WrongTypeError for distributed values that are not mirrored */
export function selectReplicaMirrored(replica: number, structure: Structure<unknown>): Structure<unknown> {
  mapStructure(structure, (leaf) => {
    if (leaf instanceof DistributedValues && !(leaf instanceof Mirrored)) {
      throw new WrongTypeError(`a mirrored value is needed here, but this is ${leaf}`);
    }
  });
  return selectReplica(replica, structure);
}

/** One bare value for one component, `Mirrored` for several: what collectives return. */
export function mirror<T>(values: readonly T[]): T | Mirrored<T> {
  return values.length === 1 ? (values[0] as T) : new Mirrored(values);
}
