import { OutOfRangeError, ValueError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { InputContext } from './input-context.js';

describe('an input context', () => {
  it('has one pipeline and one replica by default', () => {
    expect({ ...new InputContext() }).toEqual({ numInputPipelines: 1, inputPipelineId: 0, numReplicasInSync: 1 });
  });

  it('divides a global batch size evenly or throws', () => {
    const context = new InputContext({ numReplicasInSync: 4 });
    expect([0, 4, 64].map((size) => context.getPerReplicaBatchSize(size))).toEqual([0, 1, 16]);
    for (const size of [2, 63, 1.5, -4])
      expect(() => context.getPerReplicaBatchSize(size)).toThrow(
        expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
      );
  });

  it('prints the id of its pipeline and the number of pipelines', () => {
    const context = new InputContext({ numInputPipelines: 3, inputPipelineId: 2, numReplicasInSync: 6 });
    expect(`${context}`).toBe('InputContext(input pipeline id 2, total: 3)');
  });

  it.each([
    [{ numInputPipelines: 0 }, ValueError, 'numInputPipelines'],
    [{ numReplicasInSync: 0.5 }, ValueError, 'numReplicasInSync'],
    [{ numInputPipelines: 2, inputPipelineId: 2 }, OutOfRangeError, 'inputPipelineId'],
  ])('is refused for %o, with the name of the field', (wrong, kind, field) => {
    expect(() => new InputContext(wrong)).toThrow(kind);
    expect(() => new InputContext(wrong)).toThrow(field);
  });
});

it.each([-1, 2, 0.5, '0', null])('InputContext refuses %j as the id of one of two pipelines', (inputPipelineId) => {
  const make = () => new InputContext({ numInputPipelines: 2, inputPipelineId: inputPipelineId as number });
  const message = `inputPipelineId must be below the number of pipelines 2, got ${JSON.stringify(inputPipelineId)}`;
  expect(make).toThrow(expect.objectContaining({ name: 'RangeError', message: expect.stringContaining(message) }));
});

it('InputContext names the invalid field in the error', () => {
  expect(() => new InputContext({ numInputPipelines: 0 })).toThrow(
    'numInputPipelines must be a whole number, 1 or more',
  );
  expect(() => new InputContext({ numReplicasInSync: 0 })).toThrow(
    'numReplicasInSync must be a whole number, 1 or more',
  );
  const message = 'globalBatchSize must be a whole number, 0 or more, got -1';
  expect(() => new InputContext().getPerReplicaBatchSize(-1)).toThrow(message);
});
