import { ValueError } from '../support/errors.js';

/**
 * @throws ValueError for an array without memory: its buffer was transferred, or has become smaller
 * than the array
 */
export function requireAttached(data: ArrayBufferView): void {
  try {
    if (data.byteLength > 0 || data instanceof DataView) return;
    // An array without memory resembles an empty one, but has no iterator.
    Uint8Array.prototype.keys.call(data);
  } catch (cause) {
    throw new ValueError(
      'ERR_COLL_BUFFER',
      'the buffer of a tensor was detached (transferred or resized); pass memory that is still attached',
      { cause },
    );
  }
}
