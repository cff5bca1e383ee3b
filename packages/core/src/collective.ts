import { type DType, quotientOf } from './dtype.js';
import type { ReduceOp } from './reduce-op.js';

/** How a collective combines contributions. `mean` is the sum, then one true division by the number of ranks. */
export type CollectiveOp = Lowercase<ReduceOp>;

/** All ops, in lower case. */
export const collectiveOps: readonly CollectiveOp[] = ['sum', 'mean', 'min', 'max', 'product'];

/**
 * A request to a group of ranks, as a value. With `n` elements a rank and `N` ranks:
 *
 * | kind           | input of a rank | output of a rank                                   |
 * |----------------|-----------------|----------------------------------------------------|
 * | all-reduce     | n               | n: all inputs combined                             |
 * | reduce         | n               | n at `root`: all inputs combined; elsewhere untouched |
 * | broadcast      | n at `root`     | n: the root's input                                |
 * | all-gather     | n               | N·n: the inputs in rank order                      |
 * | reduce-scatter | N·n             | n: block `rank` of all inputs combined             |
 */
export type Collective =
  | {
      readonly kind: 'all-reduce';
      readonly op: CollectiveOp;
      /** Which of its schedules an algorithm with several plays, such as one with rotating roots. Default: 0. */
      readonly variant?: number;
    }
  | { readonly kind: 'reduce'; readonly op: CollectiveOp; readonly root: number }
  | { readonly kind: 'broadcast'; readonly root: number }
  | { readonly kind: 'all-gather' }
  | { readonly kind: 'reduce-scatter'; readonly op: CollectiveOp };

/** Which collective, without its op and root. */
export type CollectiveKind = Collective['kind'];

/** All kinds of collectives. */
export const collectiveKinds: readonly CollectiveKind[] = [
  'all-reduce',
  'reduce',
  'broadcast',
  'all-gather',
  'reduce-scatter',
];

/** The op of a collective for a reduce op. */
export function collectiveOp(op: ReduceOp): CollectiveOp {
  return op.toLowerCase() as CollectiveOp;
}

/** How contributions are combined; undefined where nothing is. */
export function opOf(collective: Collective): CollectiveOp | undefined {
  return 'op' in collective ? collective.op : undefined;
}

/** The rank that gives or receives alone; undefined where none does. */
export function rootOf(collective: Collective): number | undefined {
  return 'root' in collective ? collective.root : undefined;
}

/** Where it differs from the input's: the mean of integers is a float. */
export function outputDType(collective: Collective, dtype: DType): DType {
  return opOf(collective) === 'mean' ? quotientOf(dtype) : dtype;
}

/** Elements of a rank's output for an input of `inputLength`, which for reduce-scatter is a multiple of `size`. */
export function outputLength(collective: Collective, inputLength: number, size: number): number {
  if (collective.kind === 'all-gather') return inputLength * size;
  return collective.kind === 'reduce-scatter' ? inputLength / size : inputLength;
}

/** Which of an algorithm's schedules is meant; 0 where there is one. */
export function variantOf(collective: Collective): number {
  return collective.kind === 'all-reduce' ? (collective.variant ?? 0) : 0;
}

/** Whether two requests are the same one. */
export function isSameCollective(one: Collective, other: Collective): boolean {
  const [{ kind, op, root }, asked] = [one as Fields, other as Fields];
  return kind === asked.kind && op === asked.op && root === asked.root && variantOf(one) === variantOf(other);
}

interface Fields {
  readonly kind: CollectiveKind;
  readonly op?: CollectiveOp;
  readonly root?: number;
}

/** For messages: `all-reduce sum`, `broadcast from rank 2`. The same for the same request. */
export function nameOf(collective: Collective): string {
  const op = opOf(collective);
  if (collective.kind === 'broadcast') return `broadcast from rank ${collective.root}`;
  if (collective.kind === 'reduce') return `reduce ${op} to rank ${collective.root}`;
  const variant = variantOf(collective);
  const told = variant === 0 ? '' : ` (variant ${variant})`;
  return op === undefined ? collective.kind : `${collective.kind} ${op}${told}`;
}
