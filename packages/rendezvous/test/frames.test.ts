import { CollError } from '@coll/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  decodeAnswer,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  FrameSplitter,
  type Op,
  ops,
} from '../src/frames.js';

const arbitraryBytes = fc.uint8Array({ maxLength: 40 });
const arbitraryRequest = fc.record({
  id: fc.nat({ max: 2 ** 32 - 1 }),
  op: fc.constantFrom(...(Object.keys(ops) as Op[])),
  key: fc.string({ unit: 'grapheme', maxLength: 20 }),
  value: arbitraryBytes,
  expected: fc.option(arbitraryBytes, { nil: undefined }),
});

/** A stream in parts of any lengths. */
function cut(stream: Buffer, lengths: readonly number[]): Buffer[] {
  let at = 0;
  const parts = lengths.map((length) => {
    at += length;
    return stream.subarray(at - length, at);
  });
  return [...parts, stream.subarray(at)];
}

it('frames are parsed as they were sent, however the stream is split', () => {
  fc.assert(
    fc.property(fc.array(arbitraryRequest), fc.array(fc.nat({ max: 30 })), (requests, lengths) => {
      const splitter = new FrameSplitter();
      const stream = Buffer.concat(requests.map(encodeRequest));
      const frames = cut(stream, lengths).flatMap((part) => splitter.push(part));
      expect(frames.map(decodeRequest)).toEqual(requests);
    }),
  );
  fc.assert(
    fc.property(fc.record({ id: fc.nat(), isRefused: fc.boolean(), value: arbitraryBytes }), (answer) => {
      const [frame] = new FrameSplitter().push(encodeAnswer(answer));
      expect(decodeAnswer(frame as Buffer)).toEqual(answer);
    }),
  );
});

it('random bytes are refused with a CollError, or parsed as a request', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 60 })), (parts) => {
      const splitter = new FrameSplitter();
      try {
        for (const part of parts) for (const frame of splitter.push(Buffer.from(part))) decodeRequest(frame);
      } catch (error) {
        expect(error).toBeInstanceOf(CollError);
      }
    }),
    { numRuns: 2000 },
  );
});

it('a frame that announces too large a length is refused', () => {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(2 ** 21 + 1000);
  expect(() => new FrameSplitter().push(head)).toThrow('a frame must have at most');
});

it('truncated requests and answers are refused', () => {
  const refused = { code: 'ERR_COLL_STORE', message: expect.stringContaining('is truncated') };
  expect(() => decodeAnswer(Buffer.alloc(4))).toThrow(expect.objectContaining(refused));
  expect(() => decodeRequest(Buffer.alloc(11))).toThrow(expect.objectContaining(refused));
});
