import type { Exchange } from '@coll/strategy/internal';
import type { AgreedList } from './agreed-lists.js';
import { type GradientMemory, zeroMemory } from './gradient-memory.js';
import { guardWidth, type StepGuard } from './step-guard.js';
import type { TfVariable } from './tensorflow.js';

/** The gradients of one step on this replica. */
export interface Step {
  readonly list: AgreedList;
  /** Those of the variables of the list. */
  readonly gradients: readonly (GradientMemory | undefined)[];
  /** Samples that they are the mean of, with which they are weighted. Undefined: not known. */
  readonly samples: number | undefined;
  /** How many variables that are not in the list have a gradient. Default: 0. */
  readonly newcomers?: number;
}

/** Numbers of the step itself: presence of each gradient, then these. */
const places = { weight: 0, newcomers: 1, guard: 2 } as const;

/**
 * Computes the means of gradients over all replicas, and writes them to the `output` of the
 * returned memory, which is undefined for variables that have no gradient on any replica. Gradients
 * are identified by the position of their variable in a list that is equal on all replicas. Returns
 * 'newcomers' instead if a replica has gradients for variables that are not in the list.
 *
 * Replicas may have gradients for different variables. A missing gradient counts as zeros if
 * another replica has one; if no replica has one, there is no mean. One number per variable, sent
 * along with the gradients, shows whether a replica has a gradient. After the first step this needs
 * no extra collective, because all replicas remember which variables ever had a gradient.
 * @throws InvalidArgumentError, the same on all replicas, if they are no longer equal
 */
export function* meanOverReplicas(
  { list, gradients, samples, newcomers = 0 }: Step,
  guard: StepGuard,
): Exchange<readonly (GradientMemory | undefined)[] | 'newcomers'> {
  const { variables, known } = list;
  // The usual number of samples has weight 1, so equal parts need no extra work.
  const weight = samples === undefined ? 1 : samples / list.usualSamples;
  const memory = weight === 0 ? gradients.map(() => undefined) : [...gradients];
  const at = (index: number) => {
    memory[index] ??= zeroMemory(variables[index] as TfVariable);
    return memory[index];
  };
  const numbers = new Float32Array(variables.length + places.guard + guardWidth);
  for (const [index, gradient] of memory.entries()) numbers[index] = gradient ? 1 : 0;
  const behind = variables.length;
  numbers[behind + places.weight] = weight;
  numbers[behind + places.newcomers] = newcomers;
  guard.write(numbers, behind + places.guard, list, memory);
  if (weight !== 1)
    for (const [index, gradient] of memory.entries()) memory[index] = gradient && scaled(gradient, weight);
  yield meanOf([...known.map(at), { input: numbers, output: numbers }]);

  yield* guard.check(numbers, behind + places.guard);
  if (numbers[behind + places.newcomers] !== 0) return 'newcomers';
  const isKnown = new Set(known);
  const added = [...variables.keys()].filter((index) => numbers[index] !== 0 && !isKnown.has(index));
  if (added.length > 0) yield meanOf(added.map(at));
  known.push(...added);
  list.steps += 1;
  guard.noteStep();
  const means = memory.map((mean, index) => (numbers[index] === 0 ? undefined : mean));
  const meanWeight = numbers[behind + places.weight] as number;
  if (meanWeight !== 1) for (const mean of means) if (mean) multiply(mean.output, mean.output, 1 / meanWeight);
  return means;
}

/** The gradient times a factor. The gradient itself changes only if its mean is written in place. */
function scaled(gradient: GradientMemory, factor: number): GradientMemory {
  multiply(gradient.input, gradient.output, factor);
  return { ...gradient, input: gradient.output };
}

function multiply(from: Float32Array, to: Float32Array, factor: number): void {
  for (let at = 0; at < from.length; at++) to[at] = (from[at] as number) * factor;
}

function meanOf(memory: readonly GradientMemory[]) {
  return { op: 'mean' as const, values: memory.map(({ input }) => input), into: memory.map(({ output }) => output) };
}
