import assert from 'node:assert/strict';
import {
  type CallOptions,
  type DistributedValues,
  type DType,
  type PackingOptions,
  type PerReplica,
  ReduceOp,
  type Tensor,
} from '@coll/core';
import { plainValues } from '../oracle/plain-arithmetic.js';
import { assertEverywhere, assertTensor, like } from './assert-value.js';
import { combinedElements, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';

/** Tests that results do not depend on how values are packed; rounded sums may differ slightly. */
export const packingCases: OpsCases = {
  'returns the same numbers with any packing': givesSameNumbers,
  'returns close sums with any packing, or the same bits if it promises them': givesSameBits,
  'reduces more packs than elements': reducesEmptyPacks,
};

const { SUM, MEAN } = ReduceOp;

const packings: readonly PackingOptions[] = [
  {},
  { numPacks: 0 },
  { numPacks: 1 },
  { numPacks: 2 },
  { numPacks: 3 },
  { numPacks: 7 },
  { numPacks: 0, aggSmallGradsMaxBytes: 16, aggSmallGradsMaxGroup: 2 },
  { numPacks: 0, aggSmallGradsMaxBytes: 1 << 20, aggSmallGradsMaxGroup: 10 },
];

const limits: readonly CallOptions[] = [{}, { bytesPerPack: 1 }, { bytesPerPack: 40 }, { bytesPerPack: 1 << 20 }];

// Small and large values of several dtypes, so that packs begin and end at many different places.
const shapes: readonly (readonly number[])[] = [[3], [2, 2], [], [17], [0], [5, 3], [1], [64]];

function batchOn(
  devices: readonly string[],
  flavour: 'whole' | 'rough',
  someDTypes: readonly DType[],
): PerReplica<Tensor>[] {
  return shapes.flatMap((shape, index) =>
    someDTypes.map((dtype, position) => valueOn(devices, { shape, dtype, flavour, seed: index + 8 * position })),
  );
}

async function reduceBatch(
  subject: OpsSubject,
  packing: PackingOptions,
  options: CallOptions,
  op: ReduceOp,
  values: readonly PerReplica<Tensor>[],
): Promise<readonly DistributedValues<Tensor>[]> {
  await using cross = await subject.create(packing);
  const results = await cross.batchReduce(
    op,
    values.map((value) => [value, value] as const),
    options,
  );
  return results as readonly DistributedValues<Tensor>[];
}

async function givesSameNumbers(subject: OpsSubject): Promise<void> {
  const devices = subject.devices(subject.most);
  const values = batchOn(devices, 'whole', ['float32', 'int8', 'float16']);
  for (const packing of packings) {
    for (const options of limits) {
      const results = await reduceBatch(subject, packing, options, SUM, values);
      values.forEach((value, index) => {
        const { dtype, shape } = value.primary;
        const expected = { dtype, shape, elements: combinedElements(SUM, value.values) };
        assertEverywhere(titleOf(packing, options, index), results[index], devices, expected);
      });
    }
  }
}

async function givesSameBits(subject: OpsSubject): Promise<void> {
  const devices = subject.devices(subject.most);
  const values = batchOn(devices, 'rough', ['float32', 'float64']);
  const usual = await reduceBatch(subject, {}, {}, MEAN, values);
  for (const packing of packings) {
    for (const options of limits) {
      const results = await reduceBatch(subject, packing, options, MEAN, values);
      results.forEach((result, index) => {
        const title = titleOf(packing, options, index);
        for (const component of result.values) {
          assertTensor(`${title} on ${component.device}`, component, like(result.values[0] as Tensor));
        }
        const [found, wanted] = [result.values[0], usual[index]?.values[0]] as [Tensor, Tensor];
        if (subject.bitsIndependentOfPacking) assertTensor(title, found, like(wanted));
        else assertClose(title, found, wanted);
      });
    }
  }
}

async function reducesEmptyPacks(subject: OpsSubject): Promise<void> {
  const devices = subject.devices(2);
  for (const shape of [[], [0], [3]]) {
    const value = valueOn(devices, { shape });
    const [result] = await reduceBatch(subject, { numPacks: 5 }, {}, SUM, [value]);
    const expected = { dtype: 'float32', shape, elements: combinedElements(SUM, value.values) } as const;
    assertEverywhere(`5 packs of shape [${shape}]`, result, devices, expected);
  }
}

// Contributions are below 128, so this tolerance is far above rounding errors, and far below the
// effect of a lost contribution.
function assertClose(title: string, found: Tensor, wanted: Tensor): void {
  const [numbers, others] = [plainValues(found.dtype, found.data), plainValues(wanted.dtype, wanted.data)];
  const odd = numbers.findIndex((number, index) => Math.abs(Number(number) - Number(others[index])) > 1e-3);
  assert.ok(odd < 0, `${title}: element ${odd} is ${numbers[odd]}, with other packs ${others[odd]}`);
}

function titleOf(packing: PackingOptions, options: CallOptions, index: number): string {
  return `value ${index} packed by ${JSON.stringify({ ...packing, ...options })}`;
}
