/**
 * Stands in for `Float16Array`, which Node.js has from version 24 on: an array of the same name over
 * the same bits. Elements are read as bits.
 */
export class Float16ArrayDouble extends Uint16Array {
  override get [Symbol.toStringTag](): never {
    return 'Float16Array' as never;
  }
}

/** An array of these bits. */
export function halves(...bits: readonly number[]) {
  return new Float16ArrayDouble(bits) as unknown as Float16Halves;
}

/** The double with the type of a `Float16Array`. */
export type Float16Halves = Omit<Float16ArrayDouble, typeof Symbol.toStringTag> & {
  readonly [Symbol.toStringTag]: 'Float16Array';
};
