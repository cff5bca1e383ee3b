import { directAlgorithm } from '@coll/direct';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryShape, arbitraryTensor } from '../../test/arbitrary-tensor.js';
import type { Collective } from '../collectives/collective.js';
import type { Communicator } from '../runtime/communicator.js';
import { drive, driveSync, type Run, type Work } from '../runtime/drive.js';
import { untilAllHaveEnded } from '../runtime/until-all-have-ended.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import { byteSize, dtypes, isHalf } from '../values/dtype.js';
import { toNumbers } from '../values/element.js';
import { type Tensor, zeros } from '../values/tensor.js';
import { wasmEngine } from '../wasm/wasm-engine.js';
import { arrange } from './arrangement.js';
import { Views } from './views.js';

const collective: Collective = { kind: 'broadcast', root: 0 };

function alone(): ReferenceCommunicator {
  return new ReferenceCommunicator({ size: 1, algorithm: directAlgorithm() });
}

function packsOn(on: Communicator, runs: readonly Run[]): Work<void> {
  return { on, runs, finish: () => {} };
}

/** The bytes of a tensor; for half types the numbers, because the bits of a NaN are not promised. */
function readable({ data, dtype }: Tensor): Uint8Array | number[] {
  if (isHalf(dtype)) return toNumbers({ data, dtype });
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
}

const arbitraryBatch = fc
  .array(fc.tuple(fc.constantFrom(...dtypes), arbitraryShape), { maxLength: 8 })
  .chain((forms) => fc.tuple(...forms.map(([dtype, shape]) => arbitraryTensor(dtype, shape))));

const arbitraryPacking = fc.record({
  numPacks: fc.nat({ max: 6 }),
  aggSmallGradsMaxBytes: fc.nat({ max: 64 }),
  aggSmallGradsMaxGroup: fc.nat({ max: 4 }),
});

describe('packing and unpacking', () => {
  const seed = Date.now();
  it(`returns the original values for any shapes, dtypes and options (seed ${seed})`, async () => {
    const engines = [alone(), wasmEngine.communicator(1, directAlgorithm())];
    const views = new Views();
    await fc.assert(
      fc.asyncProperty(arbitraryBatch, arbitraryPacking, fc.nat({ max: 64 }), async (values, packing, bytesPerPack) => {
        for (const engine of engines) {
          const results = values.map(({ dtype, shape }) => zeros(dtype, shape));
          const runs = arrange(values, packing, bytesPerPack).map(({ pieces }) => ({
            collective,
            inputs: [views.cut(values, pieces)],
            outputs: [views.cut(results, pieces)],
          }));
          await drive(packsOn(engine, runs));
          expect(results.map(readable)).toEqual(values.map(readable));
        }
      }),
      { numRuns: 1000, seed },
    );
  });
});

describe('segments of a pack', () => {
  const values = [3, 5].map((length) => ({ ...zeros('int32', [length]), data: new Int32Array(length).fill(length) }));

  it('are the same array objects when a pack is sent again', () => {
    const seen: (readonly Tensor[])[] = [];
    class Watched extends ReferenceCommunicator {
      protected override runWholeSync(...args: Parameters<ReferenceCommunicator['runWholeSync']>): void {
        seen.push([args[1][0] as Tensor, args[2][0] as Tensor]);
        super.runWholeSync(...args);
      }
    }
    const watched = new Watched({ size: 1, algorithm: directAlgorithm() });
    const views = new Views();
    const results = values.map(({ shape }) => zeros('int32', shape));
    for (let step = 0; step < 2; step++) {
      const runs = arrange(values, { numPacks: 3 }).map(({ pieces }) => ({
        collective: { kind: 'all-reduce', op: 'sum' } as const,
        inputs: [views.cut(values, pieces)],
        outputs: [views.cut(results, pieces)],
      }));
      driveSync('packs', packsOn(watched, runs));
    }
    expect(results).toEqual(values);
    const arrays = seen.map((pair) => pair.map(({ data }) => data));
    for (const [index, pair] of arrays.slice(0, 3).entries()) {
      expect(pair.every((data, side) => data === arrays[index + 3]?.[side])).toBe(true);
    }
    expect(seen.every(([input]) => input?.data.byteLength === (input?.shape[0] ?? 0) * byteSize('int32'))).toBe(true);
  });

  it('must all have ended before an error of one segment is reported', async () => {
    let isDone = false;
    const slow = new Promise<void>((resolve) => setTimeout(resolve, 5)).then(() => {
      isDone = true;
    });
    await expect(untilAllHaveEnded([Promise.reject(new Error('first')), slow])).rejects.toThrow('first');
    expect(isDone).toBe(true);
  });
});
