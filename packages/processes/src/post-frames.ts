import { type DType, dtypes, type Tensor, type TypedArray } from '@coll/core';
import { hasLength, type MessageId, type Post, shapeLayoutOf } from '@coll/core/internal';
import { byteSize, viewOf } from '@coll/core/plugin';

/*
 * The connecting rank sends `ready` first; the other rank waits for it. A post, little-endian:
 *
 *     type     1 byte: an index of `types`
 *     dtype    1 byte: an index of `dtypes`; 0 unless there are elements
 *     zero     2 bytes
 *     number   4 bytes: the message, from 0
 *     length   8 bytes: elements; 0 unless there are some
 *     layout   4 bytes: a hash of the value's shape; 0 unless there are elements
 *     zero     4 bytes
 *     elements
 */
const headerBytes = 24;
const types = ['ready', 'offer', 'request', 'elements'] as const;

/** Encodes a post (one step of a message between two ranks), without its elements. */
export function encodePost(post: Post): Uint8Array {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt8(types.indexOf(post.type), 0);
  header.writeUInt32LE(post.number, 4);
  if (post.type === 'elements') {
    header.writeUInt8(dtypes.indexOf(post.dtype), 1);
    header.writeBigUInt64LE(BigInt(post.length), 8);
    header.writeInt32LE(post.layout, 16);
  }
  return header;
}

/** Encodes the first message on a connection, sent by the rank that has connected. */
export function encodeReady(): Uint8Array {
  return new Uint8Array(headerBytes);
}

/** A view of the bytes of an array's elements. */
export function bytesOf({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** The two ranks of a connection, and the functions that a `PostReader` calls. */
export interface PostReaderOptions {
  readonly rank: number;
  readonly peer: number;
  /** Returns the memory for the elements of a message; undefined if no call waits for them. */
  readonly memoryFor: (id: MessageId) => Tensor | undefined;
  readonly deliver: (post: Post) => void;
}

/** A message whose elements are still arriving. */
interface Arriving {
  readonly id: MessageId;
  readonly into: Tensor;
  readonly layout: number;
  readonly bytes: number;
  read: number;
}

/**
 * Decodes posts (steps of messages) from another rank, and writes their elements to their
 * destination as they arrive. Only headers are buffered.
 */
export class PostReader {
  readonly #options: PostReaderOptions;
  readonly #header = Buffer.alloc(headerBytes);
  #filled = 0;
  #arriving: Arriving | undefined;

  constructor(options: PostReaderOptions) {
    this.#options = options;
  }

  /**
   * Decodes the next bytes of the connection.
   * @returns false if the connection is unusable, because the bytes are not a post, or no call
   * waits for the post's elements
   */
  read(bytes: Uint8Array): boolean {
    let at = 0;
    while (at < bytes.length) {
      if (this.#arriving) {
        const taken = this.#readElements(this.#arriving, bytes.subarray(at));
        if (taken < 0) return false;
        at += taken;
        continue;
      }
      const part = bytes.subarray(at, at + headerBytes - this.#filled);
      this.#header.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < headerBytes) return true;
      this.#filled = 0;
      if (!this.#begin()) return false;
    }
    return true;
  }

  #begin(): boolean {
    const { rank, peer, deliver, memoryFor } = this.#options;
    const type = types[this.#header.readUInt8(0)];
    const dtype = dtypes[this.#header.readUInt8(1)] as DType | undefined;
    const number = this.#header.readUInt32LE(4);
    const length = Number(this.#header.readBigUInt64LE(8));
    const layout = this.#header.readInt32LE(16);
    const hasZeros = this.#header.readUInt16LE(2) === 0 && this.#header.readUInt32LE(20) === 0;
    if (type === undefined || dtype === undefined || !hasZeros) return false;
    if (type === 'ready') return true;
    const id = type === 'request' ? { from: rank, to: peer, number } : { from: peer, to: rank, number };
    if (type !== 'elements') {
      deliver({ ...id, type });
      return true;
    }
    const into = memoryFor(id);
    if (!into) return false;
    const fits = into.dtype === dtype && hasLength(into.data, length) && shapeLayoutOf(into) === layout;
    if (fits && length > 0) this.#arriving = { id, into, layout, bytes: length * byteSize(dtype), read: 0 };
    // Elements that do not fit the receiver's tensor are not read; delivering the post makes the
    // group fail.
    else
      deliver({ ...id, type, dtype, length, layout, data: fits ? into.data : viewOf(dtype, new ArrayBuffer(0), 0, 0) });
    return fits;
  }

  #readElements(arriving: Arriving, bytes: Uint8Array): number {
    const { deliver, memoryFor } = this.#options;
    const { id, into, layout } = arriving;
    const { dtype, data } = into;
    // The call may have ended, or its memory may be gone.
    if (memoryFor(id) !== into) return -1;
    const length = arriving.bytes / byteSize(dtype);
    if (data.byteLength === arriving.bytes) {
      const part = bytes.subarray(0, arriving.bytes - arriving.read);
      bytesOf(data).set(part, arriving.read);
      arriving.read += part.length;
      if (arriving.read < arriving.bytes) return part.length;
      this.#arriving = undefined;
      deliver({ ...id, type: 'elements', dtype, length, layout, data });
      return part.length;
    }
    deliver({ ...id, type: 'elements', dtype, length, layout, data });
    return -1;
  }
}
