import { describe, expect, it } from 'vitest';
import { strategyOf } from './strategies.js';
import { mirrored } from './variables.js';

const module = new URL('./fixtures/variables.mjs', import.meta.url);

describe.each([1, 2, 3])('variables of %i replicas in separate threads', (replicas) => {
  const strategy = strategyOf(replicas);
  const ids = Array.from({ length: replicas }, (_, id) => id);
  const sum = ids.reduce((total, id) => total + id + 1, 0);

  /** What a replica reads after its creation and after each change. */
  const seen = {
    NONE: (id: number) => [
      [id + 1, 10],
      [2 * id + 2, 20],
      [id + 1, 10],
      [4, 4],
    ],
    SUM: () => [
      [sum, 10 * replicas],
      [2 * sum, 20 * replicas],
      [sum, 10 * replicas],
      [4 * replicas, 4 * replicas],
    ],
    MEAN: () => [
      [sum / replicas, 10],
      [(2 * sum) / replicas, 20],
      [sum / replicas, 10],
      [4, 4],
    ],
    ONLY_FIRST_REPLICA: () => [
      [1, 10],
      [2, 20],
      [1, 10],
      [4, 4],
    ],
  };
  const rowsOf = (scale: number) => [2, 2, 3].map((row, id) => (id < replicas ? expect.closeTo(row * scale, 5) : 0));
  const rows = {
    NONE: (id: number) => [2, 2, 3].map((row, index) => (index === id ? row : 0)),
    SUM: () => rowsOf(1),
    MEAN: () => rowsOf(1 / replicas),
    ONLY_FIRST_REPLICA: () => [2, 0, 0],
  };

  it('combine the values that replicas write, and start with the value of replica 0', async () => {
    const results = strategy.experimentalLocalResults(await strategy.run(module));
    const total = ids.reduce((all, id) => all + 11 * id + 1, 0);
    expect(results).toHaveLength(replicas);
    for (const [id, result] of results.entries()) {
      const values = result as Record<string, unknown>;
      const name = id === 0 ? 'w' : `w/replica_${id}`;
      const changesOf = (steps: (id: number) => number[][]) => ({
        seen: [[1, 2], ...steps(id)],
        names: [name],
        device: strategy.extended.workerDevices[id],
      });
      const changes = Object.fromEntries(Object.entries(seen).map(([key, steps]) => [key, changesOf(steps)]));
      expect(values['blocking']).toEqual(changes);
      expect(values['waiting']).toEqual(changes);
      expect(values['rows']).toEqual(Object.fromEntries(Object.entries(rows).map(([key, make]) => [key, make(id)])));
      expect(values['counts']).toEqual([11 * id + 1, 21 * id + 1, total, true, 11 * id + 1]);
      expect(values['merge']).toMatch(
        /^RuntimeError ERR_COLL_CONTEXT: assign: variable "Variable" exists separately in the thread of each replica, here of replica 0/,
      );
    }
  });
});

describe('a variable in its own thread', () => {
  const two = strategyOf(2);

  it('cannot be sent to another thread in either direction', async () => {
    await expect(two.run(module, { exportName: 'returnsVariable' })).rejects.toMatchObject({
      code: 'ERR_COLL_NOT_CLONEABLE',
      message: expect.stringContaining('variable "stays" cannot be sent to another thread: send the result of read()'),
    });
    await expect(two.run(module, { args: [mirrored(two, [1])] })).rejects.toMatchObject({
      code: 'ERR_COLL_NOT_CLONEABLE',
    });
  });

  it('must have the same shape on all replicas', async () => {
    await expect(two.run(module, { exportName: 'differs' })).rejects.toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH' });
  });
});
