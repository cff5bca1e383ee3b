import { dtypes, type Tensor, tensor, zeros } from '@coll/core';
import { type MessageId, type Post, shapeLayoutOf } from '@coll/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOf, encodePost, encodeReady, PostReader } from './post-frames.js';

const [rank, peer] = [1, 0];

/**
 * Rank 1's reader for the posts of rank 0. `waiting`: the tensors to receive into, by message
 * number.
 */
function readerOf(waiting: readonly Tensor[] = []) {
  const delivered: Post[] = [];
  const memoryFor = ({ from, number }: MessageId) => (from === peer ? waiting[number] : undefined);
  const reader = new PostReader({ rank, peer, memoryFor, deliver: (post) => delivered.push(post) });
  return { reader, delivered };
}

const elementsOf = (number: number, value: Tensor): Post => ({
  ...{ type: 'elements', from: peer, to: rank, number },
  ...{ dtype: value.dtype, length: value.data.length, layout: shapeLayoutOf(value), data: value.data },
});
const wireOf = (post: Post) =>
  Buffer.concat([encodePost(post), post.type === 'elements' ? bytesOf(post.data) : Buffer.of()]);

describe('point-to-point frames on a connection', () => {
  it('are parsed however the bytes are split', () => {
    const numbers = fc.array(fc.integer({ min: -100, max: 100 }), { maxLength: 40 });
    const cuts = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(numbers, { maxLength: 5 }), cuts, (lists, lengths) => {
        const values = lists.map((list) => tensor(Int16Array.from(list)));
        const into = values.map(({ data }) => zeros('int16', [data.length]));
        const { reader, delivered } = readerOf(into);
        const posts: Post[] = values.flatMap((value, number) => [
          { type: 'offer', from: peer, to: rank, number },
          { type: 'request', from: rank, to: peer, number: number + 7 },
          elementsOf(number, value),
        ]);
        const bytes = Buffer.concat([encodeReady(), ...posts.map(wireOf)]);
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const end = at + (lengths[turn % lengths.length] as number);
          expect(reader.read(bytes.subarray(at, end))).toBe(true);
          at = end;
        }
        expect(delivered).toEqual(posts);
        expect(into.map(({ data }) => data)).toEqual(values.map(({ data }) => data));
      }),
    );
  });

  it('keep their dtype', () => {
    for (const [number, dtype] of dtypes.entries()) {
      const { reader, delivered } = readerOf(dtypes.map((one) => zeros(one, [2])));
      expect(reader.read(wireOf(elementsOf(number, zeros(dtype, [2]))))).toBe(true);
      expect(delivered).toMatchObject([{ number, dtype, length: 2 }]);
    }
  });

  it.each([
    ['another length', zeros('float32', [3])],
    ['another dtype', zeros('int32', [2])],
    ['another shape', zeros('float32', [2, 1])],
  ])('with %s than the receiver expects are reported and not stored', (_, value) => {
    const into = zeros('float32', [2]);
    const { reader, delivered } = readerOf([into]);
    expect(reader.read(wireOf(elementsOf(0, value)))).toBe(false);
    expect(delivered).toMatchObject([{ type: 'elements', dtype: value.dtype, length: value.data.length }]);
  });

  it('are read no further once one arrives that nobody waits for', () => {
    const { reader, delivered } = readerOf();
    expect(reader.read(wireOf(elementsOf(0, zeros('float32', [1]))))).toBe(false);
    expect(delivered).toEqual([]);
  });

  it('are not written to memory that the caller has got back', () => {
    const into = zeros('float32', [2]);
    const waiting = [into];
    const { reader } = readerOf(waiting);
    const bytes = wireOf(elementsOf(0, tensor(Float32Array.of(1, 2))));
    expect(reader.read(bytes.subarray(0, 28))).toBe(true);
    waiting.pop();
    expect(reader.read(bytes.subarray(28))).toBe(false);
    expect(into.data).toEqual(Float32Array.of(1, 0));
  });

  it('are read no further if the memory for one was detached', () => {
    const into = zeros('float32', [2]);
    const { reader, delivered } = readerOf([into]);
    const bytes = wireOf(elementsOf(0, tensor(Float32Array.of(1, 2))));
    reader.read(bytes.subarray(0, 28));
    structuredClone(into.data, { transfer: [into.data.buffer as ArrayBuffer] });
    expect(reader.read(bytes.subarray(28))).toBe(false);
    expect(delivered).toMatchObject([{ length: 2, data: { length: 0 } }]);
  });

  it('are parsed without throwing even if their bytes are random', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }), (parts) => {
        const into = zeros('uint8', [5]);
        const { reader, delivered } = readerOf([into]);
        parts.every((part) => reader.read(part));
        for (const post of delivered) expect(['offer', 'request', 'elements']).toContain(post.type);
      }),
      { numRuns: 500 },
    );
  });

  it('have a header with the documented bytes', () => {
    expect([...encodePost({ type: 'request', from: 0, to: 1, number: 258 })]).toEqual([
      ...[2, 0, 0, 0],
      ...[2, 1, 0, 0],
      ...Array(16).fill(0),
    ]);
    const { reader } = readerOf();
    const bad = Buffer.from(encodePost({ type: 'offer', from: 0, to: 1, number: 0 }));
    bad.writeUInt16LE(1, 2);
    expect(reader.read(bad)).toBe(false);
  });
});
