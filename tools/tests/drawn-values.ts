import { tensorSymbol } from '@coll/core';
import type { Random } from '../../packages/processes/test/faults/random.ts';

/** Makers of values that no call accepts. Each call gets new ones. */
const nonsense: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 2.5,
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => Number.MAX_SAFE_INTEGER,
  () => 2 ** 31,
  () => 7n,
  () => '',
  () => 'nonsense',
  () => '__proto__',
  () => Symbol('nonsense'),
  () => ({}),
  () => Object.create(null),
  () => [],
  () => new Array(2),
  () => new Map([[{}, {}]]),
  () => new Date(Number.NaN),
  () => new ArrayBuffer(8),
  () => new DataView(new ArrayBuffer(8)),
  () => Promise.resolve(1),
  () => () => undefined,
  () => (value: unknown) => value,
  () => new Proxy({}, {}),
  () => new Proxy([], {}),
  carrierOfItself,
  carrierOfCarrier,
  () => ({ [tensorSymbol]: 1 }),
  circularObject,
  circularList,
  deepList,
];

function carrierOfItself(): unknown {
  const carrier = { [tensorSymbol]: (): unknown => carrier };
  return carrier;
}

function carrierOfCarrier(): unknown {
  const one = { [tensorSymbol]: (): unknown => other };
  const other = { [tensorSymbol]: (): unknown => one };
  return one;
}

function circularObject(): unknown {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  return circle;
}

function circularList(): unknown {
  const circle: unknown[] = [1];
  circle.push(circle);
  return circle;
}

function deepList(): unknown {
  let list: unknown = 1;
  for (let depth = 0; depth < 20_000; depth++) list = [list];
  return list;
}

/** Draws arguments: invalid values, values that are valid for some call, and lists and objects of both. */
export class DrawnValues {
  readonly #random: Random;
  readonly #sensible: readonly (() => unknown)[];
  /** Property names that calls have looked up in an object. */
  readonly #keys = new Set<string>(['key']);

  constructor(random: Random, sensible: readonly (() => unknown)[]) {
    this.#random = random;
    this.#sensible = sensible;
  }

  /** A list of about this length. */
  list(length: number): unknown[] {
    return Array.from({ length: this.#random.below(length + 3) }, () => this.value());
  }

  /** Arguments with one argument, or a part of it, replaced. Some at the end may be missing. */
  spoilt(args: readonly unknown[]): unknown[] {
    const index = this.#random.below(args.length);
    if (this.#random.next() < 0.1) return args.slice(0, index);
    return args.with(index, this.#spoiltPart(args[index]));
  }

  #spoiltPart(part: unknown): unknown {
    if (this.#random.next() < 0.5) return this.value();
    if (Array.isArray(part) && part.length > 0) {
      const index = this.#random.below(part.length);
      return part.with(index, this.#spoiltPart(part[index]));
    }
    if (typeof part !== 'object' || part === null || Object.getPrototypeOf(part) !== Object.prototype)
      return this.value();
    const key = this.#random.pick([...Object.keys(part), ...this.#keys]);
    return { ...part, [key]: this.#spoiltPart((part as Record<string, unknown>)[key]) };
  }

  value(depth = 0): unknown {
    const kind = this.#random.next();
    if (kind < 0.35 || depth > 2) return this.#random.pick(nonsense)();
    if (kind < 0.7) return this.#random.pick(this.#sensible)();
    if (kind < 0.8) return Array.from({ length: this.#random.below(4) }, () => this.value(depth + 1));
    if (kind < 0.85) return this.#inquisitive();
    const keys = Array.from({ length: 1 + this.#random.below(4) }, () => this.#random.pick([...this.#keys]));
    return Object.fromEntries(keys.map((key) => [key, this.value(depth + 1)]));
  }

  /** An empty object that records which of its properties are read. */
  #inquisitive(): object {
    const note = (key: string | symbol) => {
      if (typeof key === 'string') this.#keys.add(key);
    };
    return new Proxy(
      {},
      {
        get: (target, key) => {
          note(key);
          return Reflect.get(target, key);
        },
        has: (target, key) => {
          note(key);
          return Reflect.has(target, key);
        },
      },
    );
  }
}

/** A short text for any value. */
export function shown(value: unknown, depth = 0): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (ArrayBuffer.isView(value)) return `${Object.prototype.toString.call(value).slice(8, -1)}(${value.byteLength})`;
  if (depth > 2) return '…';
  if (Array.isArray(value)) return `[${Array.from(value, (item) => shown(item, depth + 1)).join(', ')}]`;
  const name = Object.getPrototypeOf(value)?.constructor?.name ?? 'null';
  const keys = Object.keys(value).slice(0, 8);
  const fields = keys.map((key) => `${key}: ${shown((value as Record<string, unknown>)[key], depth + 1)}`);
  return `${name === 'Object' ? '' : `${name} `}{${fields.join(', ')}}`;
}
