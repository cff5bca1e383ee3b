import { CollError } from '@coll/core';
import { mostKeyBytes, mostValueBytes } from './store.js';

/** Version of the frame format; client and server must have the same version. */
export const frameVersion = 3;

/** Operations of a client. The numbers are part of the protocol. */
export const ops = {
  hello: 0,
  set: 1,
  get: 2,
  add: 3,
  compareSet: 4,
  delete: 5,
  cancel: 6,
  getAll: 7,
  setWhenLost: 8,
  forget: 9,
} as const;

/** The key of a `forget` that takes back all that was to be set. */
export const allKeys = '*';

/** Name of an operation. */
export type Op = keyof typeof ops;

const opNames = Object.keys(ops) as readonly Op[];

/** A client's request. */
export interface Request {
  /** Identifies the request; its answer has the same id. */
  readonly id: number;
  readonly op: Op;
  readonly key: string;
  readonly value: Uint8Array;
  /** Only for `compareSet`: the value that the key must have; undefined if it must have none. */
  readonly expected: Uint8Array | undefined;
}

/** A server's answer: a value, or the reason for a refusal. */
export interface Answer {
  readonly id: number;
  readonly isRefused: boolean;
  readonly value: Uint8Array;
}

// A key, two values (as in `compareSet`) and their headers.
const mostFrameBytes = mostKeyBytes + 2 * mostValueBytes + 64;

/*
 * A frame is its length in four bytes, followed by
 *
 *     request:  id (4)  op (1)  has expected (1)  length of key (2)  length of expected (4)  key  expected  value
 *     answer:   id (4)  refused (1)  value
 */
const requestHead = 12;
const answerHead = 5;

/** Encodes a request as a frame. */
export function encodeRequest({ id, op, key, value, expected }: Request): Buffer {
  const keyBytes = Buffer.from(key);
  const head = Buffer.alloc(4 + requestHead);
  head.writeUInt32BE(requestHead + keyBytes.length + (expected?.length ?? 0) + value.length, 0);
  head.writeUInt32BE(id, 4);
  head.writeUInt8(ops[op], 8);
  head.writeUInt8(Number(expected !== undefined), 9);
  head.writeUInt16BE(keyBytes.length, 10);
  head.writeUInt32BE(expected?.length ?? 0, 12);
  return Buffer.concat([head, keyBytes, expected ?? Buffer.of(), value]);
}

/** Decodes a request. @throws CollError for a frame that is not a request */
export function decodeRequest(frame: Buffer): Request {
  if (frame.length < requestHead) throw badFrame('the request is truncated');
  const op = opNames[frame.readUInt8(4)];
  if (op === undefined) throw badFrame('the request has an unknown operation');
  const keyEnd = requestHead + frame.readUInt16BE(6);
  const expectedEnd = keyEnd + frame.readUInt32BE(8);
  if (expectedEnd > frame.length || keyEnd - requestHead > mostKeyBytes) throw badFrame('the request is truncated');
  return {
    id: frame.readUInt32BE(0),
    op,
    key: frame.toString('utf8', requestHead, keyEnd),
    expected: frame.readUInt8(5) === 0 ? undefined : copyOf(frame, keyEnd, expectedEnd),
    value: copyOf(frame, expectedEnd, frame.length),
  };
}

/** Encodes an answer as a frame. */
export function encodeAnswer({ id, isRefused, value }: Answer): Buffer {
  const head = Buffer.alloc(4 + answerHead);
  head.writeUInt32BE(answerHead + value.length, 0);
  head.writeUInt32BE(id, 4);
  head.writeUInt8(Number(isRefused), 8);
  return Buffer.concat([head, value]);
}

/** Decodes an answer. @throws CollError for a frame that is not an answer */
export function decodeAnswer(frame: Buffer): Answer {
  if (frame.length < answerHead) throw badFrame('the answer is truncated');
  return {
    id: frame.readUInt32BE(0),
    isRefused: frame.readUInt8(4) !== 0,
    value: copyOf(frame, answerHead, frame.length),
  };
}

/** Encodes the keys of a `getAll`, as the value of its request. */
export function encodeKeys(keys: readonly string[]): Uint8Array {
  return Buffer.from(JSON.stringify(keys));
}

/** Decodes the keys of a `getAll`. @throws CollError for anything else than a list of strings */
export function decodeKeys(bytes: Uint8Array): readonly string[] {
  let keys: unknown;
  try {
    keys = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    throw badFrame('the request has no list of keys');
  }
  if (Array.isArray(keys) && keys.every((key) => typeof key === 'string')) return keys;
  throw badFrame('the request has no list of keys');
}

/**
 * Encodes the first of these values as the answer to a `getAll`: as many as have at most 1 MiB
 * together, but at least one. Each value follows its length in four bytes.
 */
export function encodeValues(values: readonly Uint8Array[]): Buffer {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const value of values) {
    if (bytes > 0 && bytes + value.length > mostValueBytes) break;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    parts.push(length, value);
    bytes += 4 + value.length;
  }
  return Buffer.concat(parts);
}

/** Decodes the values of an answer to a `getAll`. @throws CollError for truncated values */
export function decodeValues(bytes: Uint8Array): Uint8Array[] {
  const answer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const values: Uint8Array[] = [];
  for (let at = 0; at < answer.length; ) {
    const begin = at + 4;
    if (begin > answer.length) throw badFrame('the answer is truncated');
    at = begin + answer.readUInt32BE(at);
    if (at > answer.length) throw badFrame('the answer is truncated');
    values.push(copyOf(answer, begin, at));
  }
  return values;
}

/** Splits a byte stream into frames. */
export class FrameSplitter {
  #parts: Buffer[] = [];
  #bytes = 0;

  /**
   * Adds a part of the stream and returns the frames that it completes.
   * @throws CollError for a frame of invalid length, before allocating memory for it
   */
  push(part: Buffer): Buffer[] {
    this.#parts.push(part);
    this.#bytes += part.length;
    const frames: Buffer[] = [];
    for (
      let length = this.#nextLength();
      length !== undefined && this.#bytes >= 4 + length;
      length = this.#nextLength()
    ) {
      const whole = this.#joined();
      frames.push(whole.subarray(4, 4 + length));
      this.#parts = [whole.subarray(4 + length)];
      this.#bytes -= 4 + length;
    }
    return frames;
  }

  #nextLength(): number | undefined {
    if (this.#bytes < 4) return undefined;
    const [first] = this.#parts;
    const length = (first && first.length >= 4 ? first : this.#joined()).readUInt32BE(0);
    if (length > mostFrameBytes) throw badFrame(`a frame must have at most ${mostFrameBytes} bytes, got ${length}`);
    return length;
  }

  #joined(): Buffer {
    const [first] = this.#parts;
    const whole = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts);
    this.#parts = [whole];
    return whole;
  }
}

// Values are kept for long, so they are copied: a view would keep a whole part of the stream in memory.
function copyOf(frame: Buffer, begin: number, end: number): Uint8Array {
  return Uint8Array.from(frame.subarray(begin, end));
}

function badFrame(message: string): CollError {
  return new CollError('ERR_COLL_STORE', `the other side does not use the protocol of a TcpStore: ${message}`);
}
