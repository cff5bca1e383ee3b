import { describe, expect, it } from 'vitest';
import { type ClusterDescription, ClusterSpec } from './cluster-spec.js';

const cluster = new ClusterSpec({ worker: ['a:1', 'b:1'], chief: ['c:1'], ps: { 1: 'd:1', 3: 'e:1' } });

describe('ClusterSpec', () => {
  it('returns jobs, tasks and addresses', () => {
    expect(cluster.jobs).toEqual(['chief', 'ps', 'worker']);
    expect(cluster.jobs.map((job) => cluster.numTasks(job))).toEqual([1, 2, 2]);
    expect(cluster.taskIndices('ps')).toEqual([1, 3]);
    expect(cluster.jobTasks('ps')).toEqual([undefined, 'd:1', undefined, 'e:1']);
    expect(cluster.jobTasks('worker')).toEqual(['a:1', 'b:1']);
    expect(cluster.taskAddress('ps', 3)).toBe('e:1');
    expect([cluster.isEmpty, new ClusterSpec().isEmpty]).toEqual([false, true]);
  });

  it('is converted back to its description, with a list for each job whose task numbers have no gaps', () => {
    const description: ClusterDescription = { chief: ['c:1'], ps: { 1: 'd:1', 3: 'e:1' }, worker: ['a:1', 'b:1'] };
    expect(cluster.asDescription()).toEqual(description);
    expect(JSON.parse(JSON.stringify(new ClusterSpec(cluster)))).toEqual(JSON.parse(JSON.stringify(description)));
    expect(new ClusterSpec({ worker: { 0: 'a:1', 1: 'b:1' } }).asDescription()).toEqual({ worker: ['a:1', 'b:1'] });
    expect(new ClusterSpec({ worker: [] }).jobTasks('worker')).toEqual([]);
    expect(new ClusterSpec({ ps: { 10: 'b:1', 9: 'a:1' } }).taskIndices('ps')).toEqual([9, 10]);
    // JavaScript sorts only those numeric field names that are at most 2 ** 32 - 2.
    const beyond = new ClusterSpec({ ps: { 5000000000: 'b:1', 4294967296: 'a:1' } });
    expect(beyond.taskIndices('ps')).toEqual([4_294_967_296, 5_000_000_000]);
  });

  it('throws an error that names the missing job or task', () => {
    const missing = (message: string) =>
      expect.objectContaining({ code: 'ERR_COLL_CLUSTER', message: expect.stringContaining(message) });
    expect(() => cluster.numTasks('evaluator')).toThrow(missing('has no job "evaluator"; it has chief, ps, worker'));
    expect(() => cluster.taskAddress('ps', 0)).toThrow(missing('job "ps" has no task 0; it has 1,3'));
    expect(() => new ClusterSpec().taskIndices('worker')).toThrow(missing('it has no jobs'));
  });

  it.each([[['a:1']], ['a:1'], [{ worker: 'a:1' }], [{ worker: [1] }], [null], [{ worker: null }]])(
    'refuses the description %j',
    (description) => {
      expect(() => new ClusterSpec(description as never)).toThrow(TypeError);
    },
  );

  it.each([
    [{ worker: 'a:1' }, 'got job "worker": "a:1"'],
    [{ chief: ['b:1'], worker: ['a:1', 1] }, 'got job "worker": ["a:1", 1]'],
    [['a:1'], 'got ["a:1"]'],
  ])('names the invalid part of %j', (description, message) => {
    const expected = "each job's tasks, { worker: ['host-a:2222', 'host-b:2222'] }, ";
    expect(() => new ClusterSpec(description as never)).toThrow(expected + message);
  });

  it.each(['-1', '01', '1.5', 'first'])('refuses a task with the number %s', (index) => {
    const message = `job "worker": the number of a task must be a whole number, 0 or more, got "${index}"`;
    expect(() => new ClusterSpec({ worker: { [index]: 'a:1' } })).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_CLUSTER', message }),
    );
  });
});
