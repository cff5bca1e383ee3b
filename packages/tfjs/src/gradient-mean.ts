import type { Exchange } from './exchange.js';
import { type GradientMemory, zeroMemory } from './gradient-memory.js';
import { type Place, requireSameVariables } from './same-variables.js';
import type { TfVariable } from './tensorflow.js';

/**
 * Means of gradients over replicas, keyed by a gradient's position in a list of variables, which every replica gives alike.
 *
 * Replicas may have gradients for different variables. With the gradients travels one number a variable that says who has one:
 * where some have, the others count as zero; where none has, there is no mean. After the first step this costs no collective of
 * its own, because replicas remember, alike, which variables ever had a gradient.
 */
export class GradientMean {
  readonly #place: Place;
  /** For each list of variables, the positions that had a gradient somewhere, in the order in which they first did. */
  readonly #known = new Map<string, number[]>();

  constructor(place: Place) {
    this.#place = place;
  }

  /** Compares a list that is used for the first time. @throws as `requireSameVariables` */
  *compare(variables: readonly TfVariable[]): Exchange<void> {
    const key = keyOf(variables);
    if (this.#known.has(key)) return;
    yield* requireSameVariables(variables, this.#place);
    this.#known.set(key, []);
  }

  /** Writes the means to the outputs of the result, which has none for variables without a gradient anywhere. */
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

  /** Positions of a compared list that had a gradient on some replica, in the order in which they first did. */
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
