import { type Tensor, tensor } from '@coll/core';
import { MirroredStrategy, type MultiWorkerMirroredStrategy } from '@coll/strategy';
import { afterEach, describe, expect, it } from 'vitest';
import { mistakesOfReplicas, refuses } from './fixtures/refuses.js';
import { closeGroups, workersHere } from './workers-here.js';

afterEach(closeGroups);

type Act = (strategy: MultiWorkerMirroredStrategy) => unknown;

const values = (strategy: MultiWorkerMirroredStrategy, made: Tensor = tensor([1, 2])) =>
  strategy.experimentalDistributeValuesFromFunction(() => made);
const reduced: Act = (strategy) => strategy.reduce('sum', values(strategy), 0);
const batches = [new Float32Array([1, 2, 3, 4]), new Float32Array([5, 6, 7, 8])];

async function firstStep(strategy: MultiWorkerMirroredStrategy, options: object, dataset = batches): Promise<void> {
  for await (const _ of strategy.experimentalDistributeDataset(dataset, options)) return;
}

/** The calls that one worker refuses, each with the call that the other worker makes. */
const mistakes: readonly (readonly [what: string, refused: Act, made: Act])[] = [
  ['a sum along an axis that does not exist', (strategy) => strategy.reduce('sum', values(strategy), 7), reduced],
  [
    'the mean of bool along an axis',
    (strategy) => strategy.reduce('mean', values(strategy, tensor([1], { dtype: 'bool' })), 0),
    reduced,
  ],
  [
    'a reduce with an unknown option',
    (strategy) => strategy.reduce('sum', values(strategy), null, { timeout: 1 } as never),
    (strategy) => strategy.reduce('sum', values(strategy), null),
  ],
  [
    'a reduce with an aborted signal',
    (strategy) => strategy.reduce('sum', values(strategy), 0, { signal: AbortSignal.abort() }),
    reduced,
  ],
  [
    'a gather along an axis that does not exist',
    (strategy) => strategy.gather(values(strategy), 3),
    (strategy) => strategy.gather(values(strategy), 0),
  ],
  [
    'batchReduceTo without pairs',
    (strategy) => strategy.extended.batchReduceTo('sum', [1] as never),
    (strategy) => strategy.extended.batchReduceTo('sum', [[values(strategy), 'cpu:0']]),
  ],
  [
    'a run without a function',
    (strategy) => strategy.run('replica' as never),
    (strategy) => strategy.run((replica) => replica.allReduce('sum', tensor([1, 2]))),
  ],
  [
    'a dataset with an unknown option',
    (strategy) => firstStep(strategy, { shuffle: true }),
    (strategy) => firstStep(strategy, { autoShardPolicy: 'OFF' }),
  ],
  [
    'a step that cannot be split',
    (strategy) => firstStep(strategy, { equalSteps: true, autoShardPolicy: 'OFF' }, [{}] as never),
    (strategy) => firstStep(strategy, { equalSteps: true, autoShardPolicy: 'OFF' }),
  ],
  [
    'a merge call without a function',
    (strategy) => strategy.run((replica) => replica.mergeCall('sum' as never).catch(() => {})),
    (strategy) => strategy.run((replica) => replica.mergeCall((own) => own.reduce('sum', 1, null))),
  ],
];

describe('a call that one worker refuses', () => {
  it.each(mistakes)('fails the next call of all workers: %s', async (what, refused, made) => {
    const replicas = what.includes('merge call') || what.includes('unknown option') ? 2 : 1;
    const [first, second] = (await workersHere(2, replicas)) as [
      MultiWorkerMirroredStrategy,
      MultiWorkerMirroredStrategy,
    ];
    const other = (async () => {
      await made(first);
      await reduced(first);
    })();
    await (async () => refused(second))().catch(() => {});
    const code = what.includes('aborted') ? 'ERR_COLL_ABORTED' : 'ERR_COLL_PEER_FAILED';
    const failure = {
      code,
      message: expect.stringMatching(/rank (1|2, 3 .worker 1.) .*caught ERR_COLL_[A-Z]+ in a call/),
    };
    const next = (async () => reduced(second))();
    await Promise.all([expect(next).rejects.toMatchObject(failure), expect(other).rejects.toMatchObject(failure)]);
  });

  it.each([1, 2])('fails nothing if all workers refuse it, with %i replicas each', async (replicas) => {
    const sums = (await workersHere(2, replicas)).map(async (strategy) => {
      for (const [, refused] of mistakes) await (async () => refused(strategy))().catch(() => {});
      return reduced(strategy);
    });
    for (const sum of sums) expect(await sum).toMatchObject({ data: Float64Array.of(2 * replicas * 3) });
  });
});

describe.each(['one thread', 'threads'])('a call that one of the replicas in %s refuses', (where) => {
  const module = new URL('./fixtures/refuses.ts', import.meta.url);
  const run = (whats: readonly string[], who: readonly number[]) => {
    const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
    const args = [whats, who] as const;
    if (where === 'one thread') return strategy.run(refuses, { args });
    return strategy.run<typeof import('./fixtures/refuses.js'), 'refuses'>(module, { exportName: 'refuses', args });
  };

  it.each(Object.keys(mistakesOfReplicas))('fails the next call of all replicas: %s', async (what) => {
    await expect(run([what], [1])).rejects.toMatchObject({
      code: 'ERR_COLL_PEER_FAILED',
      message: expect.stringMatching(/(replica|rank) 1 caught ERR_COLL_[A-Z]+/),
    });
  });

  it('fails nothing if all replicas refuse it', async () => {
    const sum = await run(Object.keys(mistakesOfReplicas), [0, 1]);
    expect(sum).toMatchObject({ values: [{ data: Float64Array.of(2) }, {}] });
  });
});
