import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

// JSON has no typed arrays, and turns NaN into null. These values become objects with one of these names.
const [numberName, arrayName] = ['$number', '$array'];

const types = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
} as const;

/**
 * A text of rows, equal for equal rows.
 * @throws ValueError for rows of other values than numbers, strings, booleans, null, typed arrays, and lists and
 * plain objects of them
 */
export function textOfRows(rows: readonly unknown[]): string {
  return JSON.stringify(rows, function (this: Readonly<Record<string, unknown>>, key) {
    // The second argument is the result of the value's `toJSON`.
    const value = this[key];
    if (typeof value === 'number') {
      const isExact = Number.isFinite(value) && !Object.is(value, -0);
      return isExact ? value : { [numberName]: Object.is(value, -0) ? '-0' : String(value) };
    }
    if (typeof value === 'string' || typeof value === 'boolean' || value === null || Array.isArray(value)) return value;
    const type = Object(value).constructor?.name as string | undefined;
    if (ArrayBuffer.isView(value) && Object.hasOwn(types, type ?? ''))
      return { [arrayName]: type, values: Array.from(value as Float32Array) };
    if (typeof value === 'object' && (type === 'Object' || type === undefined)) return value;
    throw new ValueError(
      'ERR_COLL_VALUE',
      `shareOf: rows must be made of numbers, strings, booleans, null, and lists or plain objects of them, got ${quote(value)}`,
      { operation: 'shareOf' },
    );
  });
}

/** The rows of a text of `textOfRows`. */
export function rowsOfText(text: string): readonly unknown[] {
  return JSON.parse(text, (_, value) => {
    const { [numberName]: number, [arrayName]: type, values } = Object(value);
    if (typeof number === 'string') return Number(number);
    return typeof type === 'string' ? types[type as 'Float32Array'].from(values) : value;
  });
}
