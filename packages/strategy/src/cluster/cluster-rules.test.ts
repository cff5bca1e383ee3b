import { describe, expect, it } from 'vitest';
import { collectiveLeader, idInCluster, isChief, type Task, validateCluster, workerCount } from './cluster-rules.js';
import { ClusterSpec } from './cluster-spec.js';

const withChief = new ClusterSpec({ chief: ['a:1'], worker: ['b:1', 'c:1'], ps: ['d:1'], evaluator: ['e:1'] });
const workersOnly = new ClusterSpec({ worker: ['a:1', 'b:1'] });

const task = (taskType: string, taskId: number): Task => ({ taskType, taskId });

describe('rules of a cluster', () => {
  it('know the chief', () => {
    const tasks = [task('chief', 0), task('worker', 0), task('evaluator', 0), task('ps', 0)];
    expect(tasks.map((each) => isChief(withChief, each))).toEqual([true, false, true, false]);
    expect([0, 1].map((id) => isChief(workersOnly, task('worker', id)))).toEqual([true, false]);
  });

  it('count workers, the chief among them', () => {
    expect(workerCount(withChief, task('worker', 1))).toBe(3);
    expect(workerCount(withChief, task('chief', 0))).toBe(3);
    expect(workerCount(withChief, task('evaluator', 0))).toBe(1);
    expect(workerCount(workersOnly, task('evaluator', 0))).toBe(1);
    expect(() => workerCount(withChief, task('ps', 0))).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });

  it('number workers from the chief on', () => {
    const numbers = [task('chief', 0), task('worker', 0), task('worker', 1), task('evaluator', 0)];
    expect(numbers.map((each) => idInCluster(withChief, each))).toEqual([0, 1, 2, 0]);
    expect(idInCluster(workersOnly, task('worker', 1))).toBe(1);
    expect(() => idInCluster(withChief, task('ps', 0))).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });

  it('name the leader of collectives', () => {
    expect(collectiveLeader(withChief, task('worker', 1))).toBe('/job:chief/replica:0/task:0');
    expect(collectiveLeader(workersOnly, task('worker', 1))).toBe('/job:worker/replica:0/task:0');
    expect(collectiveLeader(withChief, task('evaluator', 0))).toBe('');
    expect(collectiveLeader(new ClusterSpec(), task('worker', 0))).toBe('');
    expect(() => collectiveLeader(undefined as never, task('worker', 0))).toThrow('a cluster is a ClusterSpec');
    expect(() => collectiveLeader(workersOnly, task('worker', 2))).toThrow('task 2 is not one of the 2');
  });

  it.each<readonly [string, ClusterSpec, Task, string]>([
    ['another job', new ClusterSpec({ master: ['a:1'] }), task('worker', 0), 'job "master" is none of'],
    ['another type', workersOnly, task('boss', 0), 'task type "boss" is none of'],
    ['a missing job', workersOnly, task('chief', 0), 'task type "chief" is not in the cluster'],
    ['two chiefs', new ClusterSpec({ chief: ['a:1', 'b:1'] }), task('chief', 0), 'one chief at most, not 2'],
    [
      'two evaluators',
      new ClusterSpec({ evaluator: ['a:1', 'b:1'], worker: ['c:1'] }),
      task('worker', 0),
      'one evaluator',
    ],
    ['a number too high', workersOnly, task('worker', 2), 'task 2 is not one of the 2 of job worker'],
    ['a number below 0', workersOnly, task('worker', -1), 'the number of a task is a whole number from 0 on, not -1'],
    ['a number as a text', workersOnly, task('worker', '1' as never), 'a whole number from 0 on, not "1"'],
    ['half a number', workersOnly, task('worker', 0.5), 'a whole number from 0 on, not 0.5'],
    ['any task of a cluster without jobs', new ClusterSpec(), task('worker', 0), 'which has no jobs'],
    ['a second evaluator that is not there', workersOnly, task('evaluator', 1), 'task 1 is not one of the 1 of job'],
    ['what is no task', workersOnly, null as never, "a task is an object such as { taskType: 'worker', taskId: 0 }"],
    ['a text for a task', workersOnly, 'worker' as never, 'a task is an object'],
    ['what is no cluster', { jobs: ['worker'] } as never, task('worker', 0), 'a cluster is a ClusterSpec, not'],
    ['jobs that are no list', { jobs: 'worker', numTasks: () => 1 } as never, task('worker', 0), 'is a ClusterSpec'],
    ['no cluster', undefined as never, task('worker', 0), 'a cluster is a ClusterSpec, not undefined'],
  ])('refuse %s', (_, cluster, who, told) => {
    expect(() => validateCluster(cluster, who)).toThrow(told);
    for (const ask of [workerCount, idInCluster]) expect(() => ask(cluster, who)).toThrow(told);
    expect(() => isChief(cluster, who)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });
});
