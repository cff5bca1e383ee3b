import { currentReplica } from '../replicas/current-replica.js';
import { NotImplementedError, OutOfRangeError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { canonicalize } from './device.js';
import { asTensor, type Tensor, tensorSymbol } from './tensor.js';

/** What tells distributed values from anything else, also those of a separately installed copy of this library. */
export const distributedValuesSymbol: unique symbol = Symbol.for('@coll/core.distributed-values') as never;

/** Components of a distributed variable have a property of this name: the variable, which stands for all of them. */
export const containerSymbol: unique symbol = Symbol.for('@coll/core.container') as never;

/** One component for each replica that lives here, in replica order. */
export abstract class DistributedValues<T = unknown> {
  readonly values: readonly T[];

  constructor(values: readonly T[]) {
    if (!Array.isArray(values))
      throw new ValueError('ERR_COLL_VALUE', `${new.target.name} takes a list of components, not ${quote(values)}`);
    this.values = Object.freeze([...values]);
  }

  /** Where the components live, as they say it themselves; empty for a component without a device. */
  get devices(): readonly string[] {
    return this.values.map(deviceOf);
  }

  /** The first component. */
  get primary(): T {
    return this.values[0] as T;
  }

  /** The class by name, which also holds for another copy of this library: `PerReplica`, `Mirrored`, … */
  abstract readonly kind: string;

  /** Whether the components are kept the same. */
  get isMirrored(): boolean {
    return false;
  }

  /** Whether it is a variable, which is handed on whole where of other values a replica gets its component. */
  get isVariable(): boolean {
    return false;
  }

  get [distributedValuesSymbol](): true {
    return true;
  }

  /**
   * The component of the replica, or of the update, in which this code runs; elsewhere the one that stands for all, if any does.
   * @throws NotImplementedError where none does; OutOfRangeError for a replica that has none
   */
  get(): T {
    return currentReplica() === undefined ? this.getCrossReplica() : this.getOnDeviceOrPrimary();
  }

  /** The component of the replica or update in which this code runs; elsewhere the first one on a device, or else the first. */
  getOnDeviceOrPrimary(device = ''): T {
    const replica = currentReplica();
    return replica === undefined ? onDeviceOrPrimary(this.values, device) : componentOf(this, replica);
  }

  /** The class and the components, one a line. */
  toString(): string {
    return textOf(this);
  }

  /** The component that stands for all. @throws NotImplementedError where there is none */
  getCrossReplica(): T {
    const told = `a ${this.kind} has no component that stands for all; hand it to strategy.run, or reduce it first`;
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', told);
  }

  // By brand, so that values of a separately installed copy of this library are known too; classes that extend ours ask as usual.
  static [Symbol.hasInstance](value: unknown): boolean {
    if (this !== DistributedValues) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && distributedValuesSymbol in value;
  }
}

/** Values that differ from replica to replica. */
export class PerReplica<T = unknown> extends DistributedValues<T> {
  readonly kind = 'PerReplica';

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== PerReplica) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof DistributedValues && value.kind === 'PerReplica';
  }

  /** In a replica, its component. @throws ValueError elsewhere: no single tensor stands for values that differ */
  [tensorSymbol](): Tensor {
    if (currentReplica() !== undefined) return asTensor(this.get());
    throw new ValueError(
      'ERR_COLL_CONTEXT',
      'a PerReplica is not one tensor: hand it to strategy.run, which gives each replica its component, or reduce it first',
    );
  }
}

/** Values that are the same on every replica; as a tensor it is the replica's component, or one that stands for all. */
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

/** The variable that a value is a component of. */
export function containerOf(value: unknown): DistributedValues | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as { readonly [containerSymbol]?: DistributedValues })[containerSymbol];
}

/** The component of a replica. @throws OutOfRangeError where there is none */
export function componentOf<T>({ kind, values }: DistributedValues<T>, replica: number): T {
  const isWhole = Number.isInteger(replica);
  if (isWhole && replica in values) return values[replica] as T;
  const told = `replica ${quote(replica)} has no component in a ${kind} of ${values.length}`;
  throw new OutOfRangeError(told, isWhole ? { rank: replica } : {});
}

/** The first component on a device, by full names; without one there the first of all. */
export function onDeviceOrPrimary<T>(values: readonly T[], device: string): T {
  const wanted = canonicalize(device);
  return (values.find((value) => canonicalize(deviceOf(value)) === wanted) ?? values[0]) as T;
}

/** `Class:{ 0: component, … }`, a component a line. */
export function textOf({ kind, values }: DistributedValues): string {
  return `${kind}:{\n${values.map((value, index) => `  ${index}: ${textOfComponent(value)}`).join(',\n')}\n}`;
}

// Components of variables tell more of themselves than their class.
function textOfComponent(value: unknown): string {
  return containerOf(value) ? String(value) : quote(value);
}

function deviceOf(value: unknown): string {
  const device = typeof value === 'object' && value !== null ? (value as { device?: unknown }).device : undefined;
  return typeof device === 'string' ? device : '';
}
