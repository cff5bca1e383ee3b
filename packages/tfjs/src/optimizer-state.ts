import { hashOf } from './hash.js';
import type { TfOptimizer, TfVariable } from './tensorflow.js';

/** The parts of an optimizer that are not in the public interface of this package. */
interface Inside {
  readonly iterations?: unknown;
  getClassName?(): string;
  getConfig?(): Readonly<Record<string, unknown>>;
}

/** Class and scalar settings of an optimizer, as a text that is compared in each step. */
export class OptimizerSettings {
  readonly #optimizer: Inside;
  /** How often `setWeights` has been called. */
  #loads = 0;
  #text = '';
  #hash = hashOf('');

  constructor(optimizer: TfOptimizer) {
    this.#optimizer = optimizer as Inside;
  }

  /** Records that `setWeights` was called. */
  noteLoad(): void {
    this.#loads += 1;
    this.hasLoaded = true;
  }

  /** Whether `setWeights` was called since the latest step. */
  hasLoaded = false;

  get text(): string {
    const optimizer = this.#optimizer;
    const name = optimizer.getClassName?.() ?? optimizer.constructor.name;
    const scalars = Object.entries(optimizer.getConfig?.() ?? {}).filter(([, value]) => typeof value !== 'object');
    const loads = this.#loads === 0 ? '' : ` (setWeights calls: ${this.#loads})`;
    return `${name} ${JSON.stringify(Object.fromEntries(scalars))}${loads}`;
  }

  get hash(): number {
    const { text } = this;
    if (text !== this.#text) this.#hash = hashOf(text);
    this.#text = text;
    return this.#hash;
  }
}

/** A variable in which an optimizer keeps its state, such as a moment. */
export interface StateVariable {
  readonly name: string;
  readonly variable: TfVariable;
}

/** The variables of an optimizer, such as moments and counters, in the order of its fields. */
export function stateOf(optimizer: TfOptimizer): StateVariable[] {
  return Object.entries(optimizer).flatMap(([field, value]) => {
    if (isVariable(value)) return [{ name: field, variable: value }];
    if (!Array.isArray(value)) return [];
    return value
      .filter((slot) => isVariable(Object(slot).variable))
      .map(({ originalName, variable }) => ({ name: String(originalName), variable }));
  });
}

function isVariable(value: unknown): value is TfVariable {
  const { assign, dataId, isDisposed } = Object(value);
  return typeof assign === 'function' && dataId !== undefined && isDisposed !== true;
}
