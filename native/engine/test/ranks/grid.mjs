// A grid of calls, thinned out: which of them a rank makes, on what memory, and what must come out.
import assert from 'node:assert/strict';
import { dtypes, tensor } from '@coll/core';
import { bufferLengths } from '@coll/core/internal';
import { byteSize, collectiveKinds, nameOf, outputDType, viewOf } from '@coll/core/plugin';
import { combined, contributions } from './plain-arithmetic.mjs';

const ops = ['sum', 'mean', 'min', 'max', 'product'];
// What is as small as this is announced together with the call: in the same cache line, or in those behind it.
const lineBytes = 48;
const smallBytes = (size) => Math.min(304, Math.floor(608 / size));
// Of all calls one in so many is made, and of the long ones, which take most of the time.
const stride = 2;
const longStride = 16;
const garbage = 0x5a;
// Elements before and after an output, which stay as they are; an odd number leaves arrays aligned to their elements alone.
const margin = 3;

/** The calls of groups of `size` ranks. All ranks make them in this order. */
export function* callsOf(size) {
  let index = size;
  for (const dtype of dtypes) {
    for (const collective of collectivesOf(size)) {
      const inLine = lineBytes / byteSize(dtype);
      const inSmall = Math.floor(smallBytes(size) / byteSize(dtype));
      for (const length of [0, 1, inLine, inLine + 1, inSmall, inSmall + 1, 2000, 70_000]) {
        index += 1;
        const call = { index, size, dtype, collective, length };
        if (drawn(call, 5, length === 70_000 ? longStride : stride) === 0) yield call;
      }
    }
  }
}

function* collectivesOf(size) {
  for (const kind of collectiveKinds) {
    if (kind === 'all-gather' || kind === 'all-to-all') yield { kind };
    else if (kind === 'broadcast' || kind === 'gather' || kind === 'scatter') yield { kind, root: size - 1 };
    else for (const op of ops) yield kind === 'reduce' ? { kind, op, root: 0 } : { kind, op };
  }
}

/** A number below `count` that differs from call to call and from question to question. */
export function drawn({ index }, question, count) {
  return (Math.imul(index * 31 + question, 0x9e3779b1) >>> 16) % count;
}

/** A rank's buffers of a call, and `check`, which throws unless the output holds what it should. */
export function buffersOf(call, rank, allocate) {
  const { size, dtype, collective, length } = call;
  const lengths = bufferLengths(collective, length, size, rank);
  const given = contributions(dtype, rank, 0, lengths.input);
  const outDType = outputDType(collective, dtype);
  const outLength = lengths.output;
  const memory = memoryFor(drawn(call, 1, 3), allocate);
  const whole = memory(outDType, outLength + 2 * margin);
  bytesOf(whole).fill(garbage);
  const output = whole.subarray(margin, margin + outLength);
  const isInPlace = drawn(call, 2, 2) === 0 && outDType === dtype && !isScattered(collective) && outLength > 0;
  const input = isInPlace ? ownPart(call, rank, output) : memory(dtype, lengths.input);
  input.set(given);
  const expected = expectedOf(call, rank, outLength);
  const check = () => {
    const where = `rank ${rank} of ${size}: ${nameOf(collective)} of ${length} ${dtype}`;
    if (expected) assert.ok(bytesOf(output).equals(bytesOf(expected)), `${where}: the output is wrong`);
    if (!isInPlace) assert.ok(bytesOf(input).equals(bytesOf(given)), `${where}: the input has changed`);
    const around = [whole.subarray(0, margin), whole.subarray(margin + outLength)];
    assert.ok(around.every(isUntouched), `${where}: memory around the output has changed`);
  };
  return { input: tensor(input, { dtype }), output: tensor(output, { dtype: outDType }), check };
}

/** The same buffers cut into pieces, some of them empty or small. */
export function cut({ data, dtype }) {
  const ends = [0, 1, 1, 13, 500, data.length].map((end) => Math.min(end, data.length));
  return ends.map((end, piece) => tensor(data.subarray(ends[piece - 1] ?? 0, end), { dtype }));
}

const isScattered = ({ kind }) => kind === 'reduce-scatter' || kind === 'scatter' || kind === 'all-to-all';
const isUntouched = (array) => bytesOf(array).every((byte) => byte === garbage);

function memoryFor(choice, allocate) {
  if (choice === 0 && allocate) return (dtype, length) => allocate(dtype, length).data;
  const Memory = choice === 1 ? SharedArrayBuffer : ArrayBuffer;
  return (dtype, length) => viewOf(dtype, new Memory(length * byteSize(dtype)), 0, length);
}

/** Where in the output a rank's input lies that is worked on in place. */
function ownPart({ length }, rank, output) {
  return output.length > length ? output.subarray(rank * length, (rank + 1) * length) : output;
}

/** Undefined for a rank that gets nothing. */
function expectedOf({ collective, dtype, length, size }, rank, outLength) {
  const { kind, op, root } = collective;
  if (kind === 'broadcast') return contributions(dtype, root, 0, length);
  if ((kind === 'reduce' || kind === 'gather') && rank !== root) return undefined;
  if (kind === 'scatter') return contributions(dtype, root, rank * length, length);
  if (op !== undefined) return combined(dtype, op, size, isScattered(collective) ? rank * outLength : 0, outLength);
  const begin = kind === 'all-to-all' ? rank * length : 0;
  const gathered = viewOf(dtype, new ArrayBuffer(outLength * byteSize(dtype)), 0, outLength);
  for (let other = 0; other < size; other++) gathered.set(contributions(dtype, other, begin, length), other * length);
  return gathered;
}

function bytesOf({ buffer, byteOffset, byteLength }) {
  return Buffer.from(buffer, byteOffset, byteLength);
}
