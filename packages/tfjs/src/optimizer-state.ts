import { hashOf } from '@coll/strategy/internal';
import type { TfOptimizer, TfVariable } from './tensorflow.js';

/** The parts of an optimizer that are not in the public interface of this package. */
interface Inside {
  readonly iterations?: unknown;
  getClassName?(): string;
  getConfig?(): Readonly<Record<string, unknown>>;
}

/** The scalar settings of an optimizer by name, such as the learning rate. */
export type ScalarSettings = Readonly<Record<string, string | number | boolean>>;

/** Class and scalar settings of an optimizer. */
export function settingsOf(optimizer: object): { readonly name: string; readonly config: ScalarSettings } {
  const inside = optimizer as Inside & { readonly constructor: { readonly name: string } };
  const name = inside.getClassName?.() ?? inside.constructor.name;
  const scalars = Object.entries(inside.getConfig?.() ?? {}).filter(([, value]) => typeof value !== 'object');
  return { name, config: Object.fromEntries(scalars) as ScalarSettings };
}

/** Changes settings of an optimizer, by its setters if it has any. */
export function assignSettings(optimizer: object, settings: ScalarSettings): void {
  const inside = optimizer as Record<string, unknown>;
  for (const [name, value] of Object.entries(settings)) {
    const setter = inside[`set${name.charAt(0).toUpperCase()}${name.slice(1)}`];
    if (typeof setter === 'function') setter.call(optimizer, value);
    else if (name in optimizer) inside[name] = value;
  }
}

/** Class and scalar settings of an optimizer, as a text that is compared in each step. */
export class OptimizerSettings {
  readonly #optimizer: object;
  /** Options of the distributed optimizer, which are compared like settings. */
  readonly #options: object;
  /** How often `setWeights` has been called. */
  #loads = 0;
  #text = '';
  #hash = hashOf('');
  /** The text when all replicas had the same. */
  #agreed: string;

  constructor(optimizer: TfOptimizer, options: object = {}) {
    this.#optimizer = optimizer;
    this.#options = options;
    this.#agreed = this.text;
  }

  /** Records that `setWeights` was called. */
  noteLoad(): void {
    this.#loads += 1;
    this.hasLoaded = true;
  }

  /** Whether `setWeights` was called since the latest step. */
  hasLoaded = false;

  get text(): string {
    const { name, config } = settingsOf(this.#optimizer);
    const loads = this.#loads === 0 ? '' : ` (setWeights calls: ${this.#loads})`;
    return `${name} ${JSON.stringify({ ...config, ...this.#options })}${loads}`;
  }

  /** The settings if they have changed since all replicas had the same. */
  get changed(): ScalarSettings | undefined {
    return this.text === this.#agreed ? undefined : settingsOf(this.#optimizer).config;
  }

  /** Records that all replicas have the settings whose hash was read last. */
  noteAgreed(): void {
    this.#agreed = this.#text;
  }

  /** Records that all replicas have the present settings. */
  noteCurrent(): void {
    this.#agreed = this.text;
  }

  /** Changes settings. */
  assign(settings: ScalarSettings): void {
    assignSettings(this.#optimizer, settings);
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

/** The variables that an optimizer has in fields, such as `accBeta1` of Adam, without those in lists. */
export function fieldVariablesOf(optimizer: TfOptimizer): StateVariable[] {
  return Object.entries(optimizer)
    .filter(([, value]) => isVariable(value))
    .map(([name, variable]) => ({ name, variable }));
}

function isVariable(value: unknown): value is TfVariable {
  const { assign, dataId, isDisposed } = Object(value);
  return typeof assign === 'function' && dataId !== undefined && isDisposed !== true;
}
