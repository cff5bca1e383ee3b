import { expect, it } from 'vitest';
import { spread } from '../../test/tested-all-reduce.js';
import { thrown } from '../../test/thrown.js';
import { PerReplica } from '../values/distributed-values.js';
import { asPerReplica } from './reducible.js';

it('asPerReplica returns distributed values themselves if no component needs conversion', () => {
  const both = spread([1], [2]);
  expect(asPerReplica(both)).toBe(both);
  expect(thrown(() => asPerReplica(new PerReplica([both.primary, { ...both.primary, shape: [5] }])))).toMatchObject({
    name: 'ValueError',
  });
});
