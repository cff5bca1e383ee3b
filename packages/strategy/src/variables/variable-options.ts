import { asTensor, type DType, type Tensor, type TensorLike, tensor, ValueError } from '@coll/core';
import { isDType, knownOptions, quote } from '@coll/core/internal';
import { isFloating } from '@coll/core/plugin';
import { fromPlainNumbers } from './plain-numbers.js';

/**
 * When the components of a variable are synchronized: on write (also `AUTO`), or on read.
 *
 * @example
 * ```ts
 * import { MirroredStrategy, VariableSynchronization, variable } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const seen = strategy.scope(() =>
 *   variable(0, { synchronization: VariableSynchronization.ON_READ, aggregation: 'sum' }),
 * );
 * await strategy.run(() => seen.assignAdd(1));
 * console.log(seen.read().data); // Float64Array(1) [ 2 ]
 * ```
 */
export const VariableSynchronization = {
  AUTO: 'AUTO',
  NONE: 'NONE',
  ON_WRITE: 'ON_WRITE',
  ON_READ: 'ON_READ',
} as const;

export type VariableSynchronization = (typeof VariableSynchronization)[keyof typeof VariableSynchronization];

/**
 * How the values of the replicas are combined into one.
 *
 * @example
 * ```ts
 * import { MirroredStrategy, VariableAggregation, variable } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const mean = strategy.scope(() => variable([0], { aggregation: VariableAggregation.MEAN }));
 * await strategy.run(({ replicaIdInSyncGroup }) => mean.assign([replicaIdInSyncGroup]));
 * console.log(mean.read().data); // Float64Array(1) [ 0.5 ]
 * ```
 */
export const VariableAggregation = {
  NONE: 'NONE',
  SUM: 'SUM',
  MEAN: 'MEAN',
  ONLY_FIRST_REPLICA: 'ONLY_FIRST_REPLICA',
} as const;

export type VariableAggregation = (typeof VariableAggregation)[keyof typeof VariableAggregation];

/** The options of a new variable. */
export interface VariableOptions<D extends DType = DType> {
  /** The name of the variable. Default: `Variable`. */
  readonly name?: string;
  /** Whether optimizers change the variable. Default: true, but false with `ON_READ`. */
  readonly trainable?: boolean;
  /**
   * When the components are synchronized, in any letter case. Default: `AUTO`, which means
   * `ON_WRITE`.
   */
  readonly synchronization?: VariableSynchronization | Lowercase<VariableSynchronization>;
  /** How the values of the replicas are combined, in any letter case. Default: `NONE`. */
  readonly aggregation?: VariableAggregation | Lowercase<VariableAggregation>;
  /** The dtype of the variable. Default: the dtype of the initial value. */
  readonly dtype?: D;
}

export const variableOptions = knownOptions<VariableOptions>('variable', {
  name: true,
  trainable: true,
  synchronization: true,
  aggregation: true,
  dtype: true,
});

/**
 * Values that initialize and change variables: tensors and their carriers, or a list of numbers,
 * which are converted to the variable's dtype.
 */
export type VariableValue = TensorLike | readonly number[];

/** Properties fixed at a variable's creation. */
export interface VariableTraits<D extends DType = DType> {
  readonly name: string;
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly trainable: boolean;
  readonly synchronization: VariableSynchronization;
  readonly aggregation: VariableAggregation;
}

/**
 * The properties of a variable with this initial value and these options.
 * @throws ValueError for an unknown synchronization or aggregation
 */
export function traitsOf({ dtype, shape }: Tensor, options: VariableOptions): VariableTraits {
  const name = nameIn(options);
  const synchronization = memberOf(VariableSynchronization, options.synchronization ?? 'AUTO', 'synchronization', name);
  const aggregation = memberOf(VariableAggregation, options.aggregation ?? 'NONE', 'aggregation', name);
  const { trainable = synchronization !== 'ON_READ' } = options;
  return { name, dtype, shape: Object.freeze([...shape]), trainable, synchronization, aggregation };
}

/**
 * The properties of a variable with one component per replica.
 * @throws ValueError for properties that are not supported with replicas
 */
export function distributedTraits(initial: Tensor, options: VariableOptions): VariableTraits {
  const traits = traitsOf(initial, options);
  const { name, dtype, synchronization, aggregation } = traits;
  if (synchronization === 'NONE') {
    const advice = 'choose ON_WRITE or ON_READ, or create the variable outside the scope';
    throw new ValueError(
      'ERR_COLL_VALUE',
      `variable "${name}": a variable of several replicas cannot have synchronization NONE: ${advice}`,
    );
  }
  if (aggregation === 'MEAN' && !isFloating(dtype)) {
    const advice = 'choose a float dtype, or another aggregation';
    throw new ValueError(
      'ERR_COLL_VALUE',
      `variable "${name}": aggregation MEAN is not defined for ${dtype}: ${advice}`,
    );
  }
  return synchronization === 'AUTO' ? { ...traits, synchronization: 'ON_WRITE' } : traits;
}

/**
 * The initial tensor of a variable.
 * @throws ValueError unless the value is a tensor of the requested dtype, or a list of numbers
 */
export function initialTensor(value: VariableValue, options: VariableOptions): Tensor {
  const name = nameIn(options);
  const { dtype } = options;
  if (dtype !== undefined && !isDType(dtype))
    throw new ValueError('ERR_COLL_VALUE', `variable "${name}": unknown dtype ${quote(dtype)}`);
  if (typeof value === 'number' || Array.isArray(value))
    return fromPlainNumbers(value, dtype ?? 'float64', `variable "${name}"`);
  const given = asTensor(value, `the initial value of variable "${name}"`);
  if (ArrayBuffer.isView(value) && dtype !== undefined && dtype !== given.dtype) return tensor(value, { dtype });
  if (dtype === undefined || dtype === given.dtype) return given;
  throw new ValueError('ERR_COLL_VALUE', `variable "${name}" of ${dtype} cannot start with a tensor of ${given.dtype}`);
}

function nameIn({ name = 'Variable' }: VariableOptions): string {
  if (typeof name === 'string') return name;
  throw new ValueError('ERR_COLL_VALUE', `the name of a variable must be a string, got ${quote(name)}`);
}

function memberOf<Member extends string>(
  members: Readonly<Record<Member, Member>>,
  value: unknown,
  trait: string,
  name: string,
): Member {
  const upper = typeof value === 'string' ? value.toUpperCase() : value;
  if (typeof upper === 'string' && Object.hasOwn(members, upper)) return upper as Member;
  const known = Object.keys(members).join(', ');
  throw new ValueError('ERR_COLL_VALUE', `variable "${name}": ${trait} must be one of ${known}, got ${quote(value)}`);
}
