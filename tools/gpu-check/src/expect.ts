import { type Collective, type DType, type Tensor, tensor, zeros } from '@coll/core';
import { combine, outputDType } from '@coll/core/plugin';

const period = 4095;

/** The input of a rank: small whole numbers, which differ by rank and element and have exact sums in any order. */
export function contribution(rank: number, length: number, dtype: DType): Tensor {
  const numbers = Array.from({ length: Math.min(period, length) }, (_, index) => ((index * 7 + rank * 3) % 5) + 1);
  const { data: pattern } = tensor(numbers, { dtype });
  const whole = zeros(dtype, [length]);
  for (let at = 0; at < length; at += period) {
    (whole.data as Float32Array).set(pattern.subarray(0, Math.min(period, length - at)) as Float32Array, at);
  }
  return whole;
}

/** The expected output of a rank, computed by plain arithmetic. */
export function expected(collective: Collective, inputs: readonly Tensor[], rank: number): Tensor {
  const [{ dtype }] = inputs as readonly [Tensor];
  switch (collective.kind) {
    case 'broadcast':
      return inputs[collective.root] as Tensor;
    case 'all-gather':
      return joined(inputs);
    case 'gather':
      return rank === collective.root ? joined(inputs) : zeros(dtype, [0]);
    case 'scatter':
      return blockOf(inputs[collective.root] as Tensor, rank, inputs.length);
    case 'all-to-all':
      return joined(inputs.map((input) => blockOf(input, rank, inputs.length)));
    case 'reduce-scatter':
      return blockOf(combine(collective.op, inputs), rank, inputs.length);
    default:
      return combine(collective.op, inputs);
  }
}

function joined(parts: readonly Tensor[]): Tensor {
  const [{ dtype }] = parts as readonly [Tensor];
  const all = zeros(dtype, [parts.reduce((sum, { data }) => sum + data.length, 0)]);
  let at = 0;
  for (const { data } of parts) {
    (all.data as Float32Array).set(data as Float32Array, at);
    at += data.length;
  }
  return all;
}

function blockOf(whole: Tensor, rank: number, ranks: number): Tensor {
  const length = whole.data.length / ranks;
  const data = whole.data.slice(rank * length, (rank + 1) * length);
  return { ...whole, data, shape: [length] };
}

/** Memory for a result, filled with bytes that no correct result contains. */
export function poisoned(collective: Collective, dtype: DType, length: number): Tensor {
  const made = zeros(outputDType(collective, dtype), [length]);
  new Uint8Array(made.data.buffer).fill(0xa5);
  return made;
}

/** @throws Error if the bits differ, with the first different element */
export function requireSame(what: string, found: Tensor, wanted: Tensor): void {
  if (found.dtype !== wanted.dtype) throw new Error(`${what}: the result is ${found.dtype}, not ${wanted.dtype}`);
  const [a, b] = [found.data, wanted.data].map((data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  if (Buffer.compare(a as Uint8Array, b as Uint8Array) === 0) return;
  const odd = (wanted.data as Float32Array).findIndex((value, at) => value !== found.data[at]);
  throw new Error(`${what}: element ${odd} is ${found.data[odd]}, not ${wanted.data[odd]}`);
}

/** A collective of each kind. */
export function collectives(root: number): readonly Collective[] {
  return [
    { kind: 'all-reduce', op: 'sum' },
    { kind: 'all-reduce', op: 'max' },
    { kind: 'all-reduce', op: 'mean' },
    { kind: 'reduce', op: 'sum', root },
    { kind: 'broadcast', root },
    { kind: 'all-gather' },
    { kind: 'reduce-scatter', op: 'sum' },
    { kind: 'gather', root },
    { kind: 'scatter', root },
    { kind: 'all-to-all' },
  ];
}
