import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { slice } from '../values/concatenate.js';
import type { DType } from '../values/dtype.js';
import { type Tensor, zeros } from '../values/tensor.js';
import { validateBuffers } from './buffers.js';
import type { Collective } from './collective.js';

const both = [0, 1];

function floats(length: number, dtype: DType = 'float32'): Tensor {
  return zeros(dtype, [length]);
}

function check(
  collective: Collective,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  localRanks: readonly number[] = both,
): void {
  validateBuffers({ collective, size: 2, localRanks }, inputs, outputs);
}

function expectRefused(action: () => void, message: string, rank?: number): void {
  expect(thrown(action)).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_BUFFER',
    message: expect.stringContaining(message),
    ...(rank === undefined ? {} : { rank }),
  });
}

describe('the buffers of gather, scatter and all-to-all', () => {
  const gather: Collective = { kind: 'gather', root: 1 };
  const scatter: Collective = { kind: 'scatter', root: 1 };
  const allToAll: Collective = { kind: 'all-to-all' };
  const gathering = { inputs: [floats(4), floats(4)], outputs: [floats(0), floats(8)] };
  const scattering = { inputs: [floats(0), floats(8)], outputs: [floats(4), floats(4)] };
  const exchanging = { inputs: [floats(8), floats(8)], outputs: [floats(8), floats(8)] };

  it.each([
    [gather, gathering],
    [scatter, scattering],
    [allToAll, exchanging],
  ])(
    'are accepted for $kind if their lengths fit, for all ranks at once or rank by rank',
    (collective, { inputs, outputs }) => {
      expect(() => check(collective, inputs, outputs)).not.toThrow();
      for (const rank of both) {
        const [input, output] = [inputs[rank] as Tensor, outputs[rank] as Tensor];
        expect(() => check(collective, [input], [output], [rank])).not.toThrow();
      }
    },
  );

  it('must be empty on the other ranks if only the root has an input or output', () => {
    const { inputs, outputs } = gathering;
    const outputMessage = 'output must be empty, because only the root gets one; it has 8 elements';
    expectRefused(() => check(gather, inputs, outputs.with(0, floats(8))), outputMessage, 0);
    const inputMessage = 'input must be empty, because only the root has one; it has 8 elements';
    expectRefused(() => check(scatter, scattering.inputs.with(0, floats(8)), scattering.outputs), inputMessage, 0);
    expect(() => check(gather, inputs, outputs.with(0, floats(0, 'int8')))).not.toThrow();
  });

  it('must have one block per rank at the root', () => {
    const { inputs, outputs } = gathering;
    expectRefused(() => check(gather, inputs, outputs.with(1, floats(4))), 'output has 4 elements, must have 8', 1);
    expectRefused(() => check(gather, inputs.with(0, floats(3)), outputs), 'input has 3 elements, others 4', 0);
    const odd = 'the length of the input must be divisible by 2, the number of ranks, got 7 elements';
    expectRefused(() => check(scatter, scattering.inputs.with(1, floats(7)), scattering.outputs), odd, 1);
    expectRefused(() => check(scatter, [floats(6)], [floats(4)], [1]), 'output has 4 elements, must have 3', 1);
  });

  it('must have a length divisible by the number of ranks in an all-to-all', () => {
    const odd = both.map(() => floats(7));
    expectRefused(
      () => check(allToAll, odd, odd),
      'the length of the input must be divisible by 2, the number of ranks, got 7 elements',
      0,
    );
    const { inputs, outputs } = exchanging;
    expectRefused(() => check(allToAll, inputs.with(1, floats(6)), outputs), 'input has 6 elements, others 8', 1);
    expectRefused(() => check(allToAll, inputs, outputs.with(0, floats(4))), 'output has 4 elements, must have 8', 0);
  });

  it("may overlap at the root, if the root's own block has the same memory in input and output", () => {
    const whole = floats(8);
    const own = slice(whole, 4, 8);
    expect(() => check(gather, [floats(4), own], [floats(0), whole])).not.toThrow();
    expect(() => check(scatter, [floats(0), whole], [floats(4), own])).not.toThrow();
    const message = 'overlaps its own input with an offset: an element may overlap only itself';
    expectRefused(() => check(gather, [floats(4), slice(whole, 0, 4)], [floats(0), whole]), message, 1);
    expectRefused(() => check(scatter, [floats(0), whole], [floats(4), slice(whole, 0, 4)]), message, 1);
  });

  it('must not be in place for an all-to-all of several ranks', () => {
    const { inputs, outputs } = exchanging;
    const message = 'output overlaps its own input: all-to-all does not run in place';
    expectRefused(() => check(allToAll, inputs, outputs.with(1, inputs[1] as Tensor)), message, 1);
    const alone = [floats(3)];
    expect(() => validateBuffers({ collective: allToAll, size: 1, localRanks: [0] }, alone, alone)).not.toThrow();
  });

  it('must not overlap memory of another rank', () => {
    const memory = floats(8);
    const one = 'the output of rank 1 overlaps memory of rank 0';
    expectRefused(() => check(gather, [slice(memory, 0, 4), floats(4)], [floats(0), memory]), one, 1);
    const other = 'the output of rank 0 overlaps memory of rank 1';
    expectRefused(() => check(scatter, [floats(0), memory], [slice(memory, 0, 4), floats(4)]), other, 0);
  });
});
