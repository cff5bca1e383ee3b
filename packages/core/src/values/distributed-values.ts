import { OutOfRangeError } from '../support/built-in-errors.js';
import { NotImplementedError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { currentReplica } from './current-replica.js';
import { canonicalize } from './device.js';
import type { Value } from './indexed-slices.js';
import { asTensor, type Tensor, tensorSymbol } from './tensor.js';

/** Marks distributed values, including those of a separately installed copy of this library. */
export const distributedValuesSymbol: unique symbol = Symbol.for('@coll/core.distributed-values') as never;

/** Key of the property by which components of a distributed variable refer to that variable. */
export const containerSymbol: unique symbol = Symbol.for('@coll/core.container') as never;

/**
 * A value with one component per local replica, in replica order.
 *
 * @example
 * ```ts
 * import { DistributedValues, PerReplica, tensor } from '@coll/core';
 *
 * const losses: DistributedValues = new PerReplica([
 *   tensor([1], { device: 'cpu:0' }),
 *   tensor([2], { device: 'cpu:1' }),
 * ]);
 * console.log(losses instanceof DistributedValues, losses.devices); // true [ 'cpu:0', 'cpu:1' ]
 * ```
 */
export abstract class DistributedValues<T = unknown> {
  readonly values: readonly T[];

  /** @throws ValueError unless `values` is a list */
  constructor(values: readonly T[]) {
    if (!Array.isArray(values))
      throw new ValueError('ERR_COLL_VALUE', `${new.target.name} takes a list of components, got ${quote(values)}`);
    this.values = Object.freeze([...values]);
  }

  /** The `device` of each component; an empty string if it has none. */
  get devices(): readonly string[] {
    return this.values.map(deviceOf);
  }

  /** The first component. */
  get primary(): T {
    return this.values[0] as T;
  }

  /**
   * The class name (`PerReplica`, `Mirrored`, …), which also identifies values of another copy of
   * this library.
   */
  abstract readonly kind: string;

  /** Whether the components are kept equal. */
  get isMirrored(): boolean {
    return false;
  }

  /**
   * Whether this is a variable. A replica receives a variable as it is, but only its own component
   * of any other distributed value.
   */
  get isVariable(): boolean {
    return false;
  }

  get [distributedValuesSymbol](): true {
    return true;
  }

  /**
   * The component of the current replica or variable update. Outside both, the component that
   * represents all components.
   * @throws NotImplementedError outside both if no component represents all, as for `PerReplica`;
   * OutOfRangeError for a replica without a component
   */
  get(): T {
    return currentReplica() === undefined ? this.getCrossReplica() : this.getOnDeviceOrPrimary();
  }

  /**
   * The component of the current replica or variable update. Outside both, the first component on
   * `device` or, if there is none, the first component.
   * @throws OutOfRangeError for a replica without a component
   */
  getOnDeviceOrPrimary(device = ''): T {
    const replica = currentReplica();
    return replica === undefined ? onDeviceOrPrimary(this.values, device) : componentOf(this, replica);
  }

  /** The class name and the components, one component per line. */
  toString(): string {
    return textOf(this);
  }

  /**
   * The component that represents all components.
   * @throws NotImplementedError if there is none
   */
  getCrossReplica(): T {
    const message = `a ${this.kind} has one component per replica and cannot be used as one value; pass it to strategy.run, or reduce it first`;
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message);
  }

  // Tests the brand, so that values of separately installed copies of this library match.
  // Subclasses use the ordinary instanceof.
  static [Symbol.hasInstance](value: unknown): boolean {
    if (this !== DistributedValues) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && distributedValuesSymbol in value;
  }
}

/**
 * Values that differ across replicas.
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 *
 * const devices = ['cpu:0', 'cpu:1'];
 * const value = new PerReplica(devices.map((device, index) => tensor([index], { device })));
 * console.log(value.values.map(({ data }) => data[0])); // [ 0, 1 ]
 * ```
 */
export class PerReplica<T = unknown> extends DistributedValues<T> {
  readonly kind = 'PerReplica';

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== PerReplica) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof DistributedValues && value.kind === 'PerReplica';
  }

  /**
   * The component of the current replica, so that a replica can use the value as a tensor.
   * @throws ValueError outside a replica, because no single tensor represents differing values
   */
  [tensorSymbol](): Tensor {
    if (currentReplica() !== undefined) return asTensor(this.get());
    throw new ValueError(
      'ERR_COLL_CONTEXT',
      'a PerReplica cannot be used as one tensor outside a replica: pass it to strategy.run, which gives each replica its component, or reduce it first',
    );
  }
}

/**
 * Values that are equal on every replica. A `Mirrored` used as a tensor stands for the component of
 * the current replica or, outside a replica, for the component that represents all.
 *
 * @example
 * ```ts
 * import { Mirrored, tensor } from '@coll/core';
 *
 * const value = new Mirrored([tensor([1], { device: 'cpu:0' }), tensor([1], { device: 'cpu:1' })]);
 * console.log(value.get().device, value.getOnDeviceOrPrimary('cpu:1').device); // cpu:0 cpu:1
 * ```
 */
export class Mirrored<T = unknown> extends DistributedValues<T> {
  readonly kind = 'Mirrored';

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== Mirrored) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof DistributedValues && value.isMirrored;
  }

  override get isMirrored(): boolean {
    return true;
  }

  [tensorSymbol](): Tensor {
    return asTensor(this.get());
  }

  override getCrossReplica(): T {
    return this.getOnDeviceOrPrimary();
  }
}

/** A bare value on one device, or `Mirrored` with one component per device. */
export type PossiblyMirrored<T = Value> = T | Mirrored<T>;

/** The distributed variable that a value is a component of; undefined if there is none. */
export function containerOf(value: unknown): DistributedValues | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as { readonly [containerSymbol]?: DistributedValues })[containerSymbol];
}

/**
 * The component of a replica.
 * @throws OutOfRangeError if that replica has no component
 */
export function componentOf<T>({ kind, values }: DistributedValues<T>, replica: number): T {
  const isWhole = Number.isInteger(replica);
  if (isWhole && replica in values) return values[replica] as T;
  const message = `replica ${quote(replica)} has no component in this ${kind}, which has ${values.length} components`;
  throw new OutOfRangeError(message, isWhole ? { rank: replica } : {});
}

/**
 * The first component on a device, compared by full name. If there is none, the first component.
 */
export function onDeviceOrPrimary<T>(values: readonly T[], device: string): T {
  const wanted = canonicalize(device);
  return (values.find((value) => canonicalize(deviceOf(value)) === wanted) ?? values[0]) as T;
}

/** The values as text: `Class:{ 0: component, … }`, one component per line. */
export function textOf({ kind, values }: DistributedValues): string {
  return `${kind}:{\n${values.map((value, index) => `  ${index}: ${textOfComponent(value)}`).join(',\n')}\n}`;
}

// Components of variables print more than their class.
function textOfComponent(value: unknown): string {
  return containerOf(value) ? String(value) : quote(value);
}

function deviceOf(value: unknown): string {
  const device = typeof value === 'object' && value !== null ? (value as { device?: unknown }).device : undefined;
  return typeof device === 'string' ? device : '';
}
