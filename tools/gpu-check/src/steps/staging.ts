import { type Gpu, gpus } from '@coll/nccl';
import { amount } from '../arena.js';
import { atLeast, type Expectation, rounded } from '../expectation.js';
import { inTurn, ours } from '../in-turn.js';
import { OtherProgram } from '../other-program.js';
import type { Step } from '../step.js';

const due = 0.85;
const dueFromBytes = 16 * 2 ** 20;
const ways = ['write pinned', 'write typed array', 'read pinned', 'read typed array'] as const;

/** GB/s of one direction. */
type Row = { readonly bytes: number } & Readonly<Record<'up in C' | 'down in C' | (typeof ways)[number], number>>;

/**
 * The speed of copies to the GPU and back: from pinned host memory, and from typed arrays, which are staged
 * in pinned memory.
 */
export const staging: Step = {
  claim: 'copies to and from the GPU are nearly as fast as those of pinned memory in C',
  seconds: 60,
  isBenchmark: true,
  async run() {
    const mebibytes = amount(256, 4);
    await using inC = await OtherProgram.inC(mebibytes);
    const [gpu] = gpus() as [Gpu];
    const rows: Row[] = [];
    for (const bytes of amount([1, 16, 64, 256], [1]).map((size) => size * 2 ** 20)) {
      using buffer = gpu.alloc('float32', bytes / 4);
      using pinned = await gpu.allocHost('float32', bytes / 4);
      pinned.array.fill(1 as never);
      const typed = new Float32Array(bytes / 4).fill(1);
      const contestants = [
        inC.times.bind(inC, 'up'),
        inC.times.bind(inC, 'down'),
        ours(() => buffer.write(pinned.array)),
        ours(() => buffer.write(typed)),
        ours(() => buffer.read(pinned.array)),
        ours(() => buffer.read(typed)),
      ];
      const timing = { bytes, calls: 1, repetitions: amount(5, 1), isEach: true };
      const times = await inTurn(contestants, amount(4, 1), timing);
      const speeds = times.map((nanoseconds) => rounded(bytes / nanoseconds));
      const named = ['up in C', 'down in C', ...ways].map((way, index) => [way, speeds[index] as number]);
      rows.push({ bytes, ...Object.fromEntries(named) } as Row);
    }
    return { facts: { unit: 'GB/s of one direction', rows }, expectations: ways.map((way) => judged(rows, way)) };
  },
};

/** Judges the worst size. */
function judged(rows: readonly Row[], way: (typeof ways)[number]): Expectation {
  const measure = way.startsWith('write') ? 'up in C' : 'down in C';
  const shares = rows.filter(({ bytes }) => bytes >= dueFromBytes).map((row) => row[way] / row[measure]);
  return atLeast(due, 'of the speed of pinned memory in C', `${way}, from 16 MiB up`, Math.min(...shares));
}
