import { ValueError } from './errors.js';
import { quote } from './quote.js';
import { type Tensor, tensorSymbol } from './tensor.js';

const brand = Symbol.for('@coll/core.distributed-values');

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

  get primary(): T {
    return this.values[0] as T;
  }

  /** `PerReplica` or `Mirrored`: the class by name, which also holds for another copy of this library. */
  abstract readonly kind: 'PerReplica' | 'Mirrored';

  toString(): string {
    return `${this.kind}:{\n${this.values.map((value, index) => `  ${index}: ${quote(value)}`).join(',\n')}\n}`;
  }

  // By brand, so that values of a separately installed copy of this library are known too; classes that extend ours ask as usual.
  static [Symbol.hasInstance](value: unknown): boolean {
    if (this !== DistributedValues) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && brand in value;
  }
}

Object.defineProperty(DistributedValues.prototype, brand, { value: true });

/** Values that differ from replica to replica. */
export class PerReplica<T = unknown> extends DistributedValues<T> {
  readonly kind = 'PerReplica';

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== PerReplica) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof DistributedValues && value.kind === 'PerReplica';
  }

  /** There is no single tensor that stands for values that differ. @throws ValueError */
  [tensorSymbol](): never {
    throw new ValueError(
      'ERR_COLL_CONTEXT',
      'a PerReplica is not one tensor: hand it to strategy.run, which gives each replica its component, or reduce it first',
    );
  }
}

/** Values that are the same on every replica; as a tensor it is its first component. */
export class Mirrored<T = unknown> extends DistributedValues<T> {
  readonly kind = 'Mirrored';

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== Mirrored) return Function.prototype[Symbol.hasInstance].call(this, value);
    return value instanceof DistributedValues && value.kind === 'Mirrored';
  }

  [tensorSymbol](): Tensor {
    return this.primary as Tensor;
  }
}

function deviceOf(value: unknown): string {
  const device = typeof value === 'object' && value !== null ? (value as { device?: unknown }).device : undefined;
  return typeof device === 'string' ? device : '';
}
