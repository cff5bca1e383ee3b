import { expect, it } from 'vitest';
import type { ReplicaContext, Strategy, Variable } from '../index.js';
import type { VariableTraits } from '../variables/variable-options.js';
import { nextVariable, sharesVariables, shareVariables } from './replica-variables.js';

const traits: VariableTraits = {
  ...{ name: 'w', dtype: 'float32', shape: [2], trainable: true, synchronization: 'ON_WRITE', aggregation: 'NONE' },
};
const variable = traits as Variable;

/** Test doubles of replicas 4 and 5, which belong to the third worker. */
function replicas(): [ReplicaContext, ReplicaContext] {
  const strategy = { extended: { firstReplica: 4 } } as Strategy;
  return [4, 5].map((replicaIdInSyncGroup) => ({ strategy, replicaIdInSyncGroup })) as never;
}

it('the other replicas get the variables that the first replica created, in order', () => {
  const [first, second] = replicas();
  expect(sharesVariables(first)).toBe(false);
  shareVariables([first, second]);
  expect([sharesVariables(first), sharesVariables(second)]).toEqual([true, true]);
  const other = { ...variable } as Variable;
  expect(nextVariable(first, traits, () => variable)).toBe(variable);
  expect(nextVariable(first, traits, () => other)).toBe(other);
  const never = () => {
    throw new Error('made twice');
  };
  expect(nextVariable(second, traits, never)).toBe(variable);
  expect(nextVariable(second, traits, never)).toBe(other);
});

it('an error names a replica that creates a variable which the first replica has not created', () => {
  const [first, second] = replicas();
  shareVariables([first, second]);
  expect(() => nextVariable(second, traits, () => variable)).toThrow(
    expect.objectContaining({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT', rank: 5 },
      message:
        'replica 5 creates a variable that replica 4 has not created: all replicas must create the same variables',
    }),
  );
  nextVariable(first, traits, () => variable);
  expect(() => nextVariable(second, { ...traits, shape: [3] }, () => variable)).toThrow(
    expect.objectContaining({
      ...{ name: 'InternalError', code: 'ERR_COLL_MISMATCH', rank: 5 },
      message: expect.stringMatching(
        /^replica 4 creates .*, replica 5 creates .*; all replicas must create the same variables$/,
      ),
    }),
  );
});
