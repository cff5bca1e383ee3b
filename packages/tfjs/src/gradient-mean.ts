import type { Exchange } from './exchange.js';
import { type GradientMemory, zeroMemory } from './gradient-memory.js';
import { type Place, requireSameVariables } from './same-variables.js';
import type { TfVariable } from './tensorflow.js';

/**
 * The means of gradients over all replicas. Gradients are identified by the position of their
 * variable in a list that must be equal on all replicas.
 *
 * Replicas may have gradients for different variables. A missing gradient counts as zeros if
 * another replica has one; if no replica has one, there is no mean. One number per variable, sent
 * along with the gradients, shows whether a replica has a gradient. After the first step this needs
 * no extra collective, because all replicas remember which variables ever had a gradient.
 */
export class GradientMean {
  readonly #place: Place;
  /**
   * For each list of variables, the indices of the variables that ever had a gradient on any
   * replica, in order of first appearance.
   */
  readonly #known = new Map<string, number[]>();

  constructor(place: Place) {
    this.#place = place;
  }

  /**
   * On the first use of a list of variables, checks that it is the same on all replicas.
   * @throws the errors of `requireSameVariables`
   */
  *compare(variables: readonly TfVariable[]): Exchange<void> {
    const key = keyOf(variables);
    if (this.#known.has(key)) return;
    yield* requireSameVariables(variables, this.#place);
    this.#known.set(key, []);
  }

  /**
   * Computes the means, and writes them to the `output` of the returned memory. The memory is
   * undefined for variables that have no gradient on any replica.
   */
  *average(
    variables: readonly TfVariable[],
    gradients: readonly (GradientMemory | undefined)[],
  ): Exchange<(GradientMemory | undefined)[]> {
    const known = this.known(variables);
    const memory = [...gradients];
    const at = (index: number) => {
      memory[index] ??= zeroMemory(variables[index] as TfVariable);
      return memory[index];
    };
    const presence = Float32Array.from(gradients, (gradient) => (gradient ? 1 : 0));
    yield meanOf([...known.map(at), { input: presence, output: presence }]);
    const isKnown = new Set(known);
    const added = [...presence.keys()].filter((index) => presence[index] !== 0 && !isKnown.has(index));
    if (added.length > 0) yield meanOf(added.map(at));
    known.push(...added);
    return memory.map((gradient, index) => (presence[index] === 0 ? undefined : gradient));
  }

  /**
   * Indices of the variables in the list that ever had a gradient on any replica, in order of first
   * appearance. `compare` must have compared the list.
   */
  known(variables: readonly TfVariable[]): number[] {
    return this.#known.get(keyOf(variables)) as number[];
  }
}

function keyOf(variables: readonly TfVariable[]): string {
  return variables.map(({ id }) => id).join();
}

function meanOf(memory: readonly GradientMemory[]) {
  return { op: 'mean' as const, values: memory.map(({ input }) => input), into: memory.map(({ output }) => output) };
}
