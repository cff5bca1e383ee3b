import { quote } from '../support/quote.js';
import { type DType, isHalf, quotientOf } from '../values/dtype.js';
import type { ReduceOp } from './reduce-op.js';

/** How a collective combines contributions. `mean` is the sum, then one true division by the number of ranks. */
export type CollectiveOp = Lowercase<ReduceOp>;

/**
 * All ops, in lower case.
 *
 * @example
 * ```ts
 * import { collectiveOps } from '@coll/core/plugin';
 *
 * console.log(collectiveOps.join(' ')); // sum mean min max product
 * ```
 */
export const collectiveOps: readonly CollectiveOp[] = ['sum', 'mean', 'min', 'max', 'product'];

/**
 * A request to a group of ranks, as a value. With `n` elements per rank and `N` ranks:
 *
 * | kind           | input of a rank | output of a rank                                   |
 * |----------------|-----------------|----------------------------------------------------|
 * | all-reduce     | n               | n: all inputs combined                             |
 * | reduce         | n               | n at `root`: all inputs combined; elsewhere untouched |
 * | broadcast      | n at `root`     | n: the root's input                                |
 * | all-gather     | n               | N·n: the inputs in rank order                      |
 * | reduce-scatter | N·n             | n: block `rank` of all inputs combined             |
 * | gather         | n               | N·n at `root`: the inputs in rank order; elsewhere empty |
 * | scatter        | N·n at `root`; elsewhere empty | n: block `rank` of the root's input |
 * | all-to-all     | N·n: block `i` is for rank `i` | N·n: block `i` is from rank `i`     |
 *
 * An all-to-all does not run in place.
 */
export type Collective =
  | {
      readonly kind: 'all-reduce';
      readonly op: CollectiveOp;
      /**
       * Index of the schedule to execute if the algorithm has several, for example one per root.
       * Default: 0.
       */
      readonly variant?: number;
    }
  | { readonly kind: 'reduce'; readonly op: CollectiveOp; readonly root: number }
  | { readonly kind: 'broadcast' | 'gather' | 'scatter'; readonly root: number }
  | { readonly kind: 'all-gather' | 'all-to-all' }
  | { readonly kind: 'reduce-scatter'; readonly op: CollectiveOp };

/** A collective without its op and root. */
export type CollectiveKind = Collective['kind'];

/**
 * All kinds of collectives.
 *
 * @example
 * ```ts
 * import { collectiveKinds, nameOf } from '@coll/core/plugin';
 *
 * console.log(collectiveKinds.length, collectiveKinds.includes('all-reduce')); // 8 true
 * console.log(nameOf({ kind: 'all-gather' })); // all-gather
 * ```
 */
export const collectiveKinds: readonly CollectiveKind[] = [
  'all-reduce',
  'reduce',
  'broadcast',
  'all-gather',
  'reduce-scatter',
  'gather',
  'scatter',
  'all-to-all',
];

/** The op of a collective for a reduce op. */
export function collectiveOp(op: ReduceOp): CollectiveOp {
  return op.toLowerCase() as CollectiveOp;
}

/**
 * How contributions are combined; undefined if the collective combines nothing.
 *
 * @example
 * ```ts
 * import { opOf } from '@coll/core/plugin';
 *
 * console.log(opOf({ kind: 'all-reduce', op: 'mean' })); // mean
 * console.log(opOf({ kind: 'all-gather' })); // undefined
 * ```
 */
export function opOf(collective: Collective): CollectiveOp | undefined {
  return 'op' in collective ? collective.op : undefined;
}

/**
 * The root of the collective; undefined if it has none.
 *
 * @example
 * ```ts
 * import { rootOf } from '@coll/core/plugin';
 *
 * console.log(rootOf({ kind: 'broadcast', root: 1 })); // 1
 * console.log(rootOf({ kind: 'all-gather' })); // undefined
 * ```
 */
export function rootOf(collective: Collective): number | undefined {
  return 'root' in collective ? collective.root : undefined;
}

/** The reason why a dtype does not support an op; undefined if it does. */
export function refusedArithmetic(op: CollectiveOp | undefined, dtype: DType): string | undefined {
  if (op !== undefined && !collectiveOps.includes(op)) return unknownOp(op);
  return op === 'mean' && dtype === 'bool'
    ? 'the mean of bool is not defined: convert to a number type first'
    : undefined;
}

/** The reason why an op does not combine indexed slices; undefined if it does. */
export function refusedSparse(op: CollectiveOp | ReduceOp): string | undefined {
  if (['sum', 'mean'].includes(op.toLowerCase())) return undefined;
  return `indexed slices support sum and mean, but not ${op}: make them dense first`;
}

/** The message for an op that is not one of `collectiveOps`. */
export function unknownOp(op: unknown): string {
  return `unknown op ${quote(op)}; it must be one of ${collectiveOps.join(', ')}`;
}

/**
 * The dtype in which values are combined by an op: float32 for 16-bit floats, so that they are
 * rounded once; for the mean of integers the dtype of the mean, so that the sum does not wrap
 * around; otherwise the dtype itself.
 */
export function accumulatorOf(dtype: DType, op: CollectiveOp): DType {
  if (isHalf(dtype)) return 'float32';
  return op === 'mean' ? quotientOf(dtype) : dtype;
}

/**
 * The dtype of the output. It differs from the input's only for a mean of integers, which is a
 * float.
 *
 * @example
 * ```ts
 * import { outputDType } from '@coll/core/plugin';
 *
 * console.log(outputDType({ kind: 'all-reduce', op: 'mean' }, 'int32')); // float64
 * ```
 */
export function outputDType(collective: Collective, dtype: DType): DType {
  return opOf(collective) === 'mean' ? quotientOf(dtype) : dtype;
}

/**
 * Whether a rank reads its input.
 *
 * @example
 * ```ts
 * import { reads } from '@coll/core/plugin';
 *
 * console.log(reads({ kind: 'broadcast', root: 1 }, 0)); // false
 * ```
 */
export function reads(collective: Collective, rank: number | undefined): boolean {
  const { kind } = collective;
  return !(kind === 'broadcast' || kind === 'scatter') || collective.root === rank;
}

/**
 * Whether a rank writes its output.
 *
 * @example
 * ```ts
 * import { writes } from '@coll/core/plugin';
 *
 * console.log(writes({ kind: 'broadcast', root: 1 }, 0)); // true
 * ```
 */
export function writes(collective: Collective, rank: number | undefined): boolean {
  const { kind } = collective;
  return !(kind === 'reduce' || kind === 'gather') || collective.root === rank;
}

/** Whether all ranks get the same result, so that one shared memory can hold it. */
export function hasOneResult({ kind }: Collective): boolean {
  return kind === 'all-reduce' || kind === 'broadcast' || kind === 'all-gather';
}

/**
 * Number of elements in the input and in the output of `rank`, for `count` elements per rank (`n`
 * in the table of `Collective`).
 */
export function bufferLengths(
  collective: Collective,
  count: number,
  size: number,
  rank: number,
): { readonly input: number; readonly output: number } {
  const { kind } = collective;
  const hasInput = kind !== 'scatter' || collective.root === rank;
  const hasOutput = kind !== 'gather' || collective.root === rank;
  return {
    input: hasInput ? count * inputBlocks(collective, size) : 0,
    output: hasOutput ? count * outputBlocks(collective, size) : 0,
  };
}

/**
 * Number of blocks in the input of a rank. In some collectives only the root has an input. A block has `n` elements, as in the
 * table of `Collective`.
 */
export function inputBlocks({ kind }: Collective, size: number): number {
  return kind === 'reduce-scatter' || kind === 'scatter' || kind === 'all-to-all' ? size : 1;
}

/**
 * Number of blocks in the output of a rank that writes its output. A block has `n` elements, as in
 * the table of `Collective`.
 */
export function outputBlocks({ kind }: Collective, size: number): number {
  return kind === 'all-gather' || kind === 'gather' || kind === 'all-to-all' ? size : 1;
}

/**
 * Number of elements in the output of a rank that writes it, if each rank that reads its input has
 * `inputLength` input elements. For reduce-scatter, scatter and all-to-all, `inputLength` is a
 * multiple of `size`.
 *
 * @example
 * ```ts
 * import { outputLength } from '@coll/core/plugin';
 *
 * console.log(outputLength({ kind: 'all-gather' }, 3, 4)); // 12
 * console.log(outputLength({ kind: 'reduce-scatter', op: 'sum' }, 12, 4)); // 3
 * ```
 */
export function outputLength(collective: Collective, inputLength: number, size: number): number {
  return (inputLength / inputBlocks(collective, size)) * outputBlocks(collective, size);
}

/**
 * Index of the algorithm's schedule to execute. Default: 0.
 *
 * @example
 * ```ts
 * import { variantOf } from '@coll/core/plugin';
 *
 * console.log(variantOf({ kind: 'all-reduce', op: 'sum', variant: 2 })); // 2
 * ```
 */
export function variantOf(collective: Collective): number {
  return collective.kind === 'all-reduce' ? (collective.variant ?? 0) : 0;
}

/** Whether two collectives have the same kind, op, root and variant. */
export function isSameCollective(one: Collective, other: Collective): boolean {
  if (one === other) return true;
  const { kind, op, root } = one as Fields;
  const asked = other as Fields;
  return kind === asked.kind && op === asked.op && root === asked.root && variantOf(one) === variantOf(other);
}

interface Fields {
  readonly kind: CollectiveKind;
  readonly op?: CollectiveOp;
  readonly root?: number;
}

/**
 * The name of a collective in messages, such as `all-reduce sum` or `broadcast from rank 2`. Equal
 * collectives have equal names.
 *
 * @example
 * ```ts
 * import { nameOf } from '@coll/core/plugin';
 *
 * console.log(nameOf({ kind: 'reduce', op: 'sum', root: 1 })); // reduce sum to rank 1
 * ```
 */
export function nameOf(collective: Collective): string {
  const op = opOf(collective);
  if (collective.kind === 'broadcast' || collective.kind === 'scatter')
    return `${collective.kind} from rank ${collective.root}`;
  if (collective.kind === 'gather') return `gather to rank ${collective.root}`;
  if (collective.kind === 'reduce') return `reduce ${op} to rank ${collective.root}`;
  const variant = variantOf(collective);
  const suffix = variant === 0 ? '' : ` (variant ${variant})`;
  return op === undefined ? collective.kind : `${collective.kind} ${op}${suffix}`;
}
