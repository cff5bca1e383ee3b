import { describe, expect, it } from 'vitest';
import { collectiveLeader, idInCluster, isChief, type Task, validateCluster, workerCount } from './cluster-rules.js';
import { ClusterSpec } from './cluster-spec.js';

const withChief = new ClusterSpec({ chief: ['a:1'], worker: ['b:1', 'c:1'], ps: ['d:1'], evaluator: ['e:1'] });
const workersOnly = new ClusterSpec({ worker: ['a:1', 'b:1'] });

const task = (taskType: string, taskId: number): Task => ({ taskType, taskId });

describe('cluster rules', () => {
  it('determine the chief', () => {
    const tasks = [task('chief', 0), task('worker', 0), task('evaluator', 0), task('ps', 0)];
    expect(tasks.map((each) => isChief(withChief, each))).toEqual([true, false, true, false]);
    expect([0, 1].map((id) => isChief(workersOnly, task('worker', id)))).toEqual([true, false]);
  });

  it('count workers, including the chief', () => {
    expect(workerCount(withChief, task('worker', 1))).toBe(3);
    expect(workerCount(withChief, task('chief', 0))).toBe(3);
    expect(workerCount(withChief, task('evaluator', 0))).toBe(1);
    expect(workerCount(workersOnly, task('evaluator', 0))).toBe(1);
    expect(() => workerCount(withChief, task('ps', 0))).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });

  it('number workers starting with the chief', () => {
    const numbers = [task('chief', 0), task('worker', 0), task('worker', 1), task('evaluator', 0)];
    expect(numbers.map((each) => idInCluster(withChief, each))).toEqual([0, 1, 2, 0]);
    expect(idInCluster(workersOnly, task('worker', 1))).toBe(1);
    expect(() => idInCluster(withChief, task('ps', 0))).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });

  it('determine the leader of collectives', () => {
    expect(collectiveLeader(withChief, task('worker', 1))).toBe('/job:chief/replica:0/task:0');
    expect(collectiveLeader(workersOnly, task('worker', 1))).toBe('/job:worker/replica:0/task:0');
    expect(collectiveLeader(withChief, task('evaluator', 0))).toBe('');
    expect(collectiveLeader(new ClusterSpec(), task('worker', 0))).toBe('');
    expect(() => collectiveLeader(undefined as never, task('worker', 0))).toThrow('the cluster must be a ClusterSpec');
    expect(() => collectiveLeader(workersOnly, task('worker', 2))).toThrow('job worker has no task 2: its 2 tasks');
  });

  it.each<readonly [string, ClusterSpec, Task, string]>([
    ['another job', new ClusterSpec({ master: ['a:1'] }), task('worker', 0), 'job "master" is not one of'],
    ['another type', workersOnly, task('boss', 0), 'task type "boss" is not one of'],
    ['a missing job', workersOnly, task('chief', 0), 'task type "chief" is not in the cluster'],
    ['two chiefs', new ClusterSpec({ chief: ['a:1', 'b:1'] }), task('chief', 0), 'at most one chief, got 2'],
    [
      'two evaluators',
      new ClusterSpec({ evaluator: ['a:1', 'b:1'], worker: ['c:1'] }),
      task('worker', 0),
      'one evaluator',
    ],
    ['a task number that is too high', workersOnly, task('worker', 2), 'job worker has no task 2: its 2 tasks'],
    ['a negative task number', workersOnly, task('worker', -1), 'taskId must be a whole number, 0 or more, got -1'],
    ['a task number that is text', workersOnly, task('worker', '1' as never), 'a whole number, 0 or more, got "1"'],
    ['a fractional task number', workersOnly, task('worker', 0.5), 'a whole number, 0 or more, got 0.5'],
    ['any task of a cluster without jobs', new ClusterSpec(), task('worker', 0), 'which has no jobs'],
    ['a missing second evaluator', workersOnly, task('evaluator', 1), 'job evaluator has no task 1: its 1 tasks'],
    [
      'a value that is not a task',
      workersOnly,
      null as never,
      "a task must be an object such as { taskType: 'worker', taskId: 0 }",
    ],
    ['text instead of a task', workersOnly, 'worker' as never, 'a task must be an object'],
    [
      'an object that is not a cluster',
      { jobs: ['worker'] } as never,
      task('worker', 0),
      'the cluster must be a ClusterSpec, got ',
    ],
    [
      'an object whose jobs are not a list',
      { jobs: 'worker', numTasks: () => 1 } as never,
      task('worker', 0),
      'must be a ClusterSpec',
    ],
    ['no cluster', undefined as never, task('worker', 0), 'the cluster must be a ClusterSpec, got undefined'],
  ])('refuse %s', (_, cluster, who, message) => {
    expect(() => validateCluster(cluster, who)).toThrow(message);
    for (const ask of [workerCount, idInCluster]) expect(() => ask(cluster, who)).toThrow(message);
    expect(() => isChief(cluster, who)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });
});
