import { asTensor, CollError, PerReplica, RuntimeError, tensor } from '@coll/core';
import { afterEach, describe, expect, it } from 'vitest';
import {
  experimentalSetStrategy,
  getReplicaContext,
  getStrategy,
  hasStrategy,
  inCrossReplicaContext,
  MirroredStrategy,
  type ReplicaContext,
  type Strategy,
} from '../index.js';
import { componentHere, localIdOf } from './contexts.js';

const one = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const other = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const names = new Map<Strategy, string>([
  [one, 'one'],
  [other, 'other'],
]);

afterEach(() => experimentalSetStrategy(undefined));

/** The error that the code throws, or with which its promise rejects. */
async function errorOf(code: () => unknown): Promise<CollError> {
  try {
    await code();
  } catch (error) {
    expect(error).toBeInstanceOf(CollError);
    return error as CollError;
  }
  throw new Error('nothing was thrown');
}

async function expectContextError(code: () => unknown, message: string | RegExp, operation?: string): Promise<void> {
  const error = await errorOf(code);
  expect(error).toBeInstanceOf(RuntimeError);
  if (operation !== undefined) expect(error.operation).toBe(operation);
  expect(error).toMatchObject({ code: 'ERR_COLL_CONTEXT', message: expect.stringMatching(message) });
}

/**
 * Describes the current strategy and context, and checks that exactly one of the two contexts is
 * active.
 */
function whereabouts(): string {
  expect(inCrossReplicaContext()).toBe(getReplicaContext() === undefined);
  const who = names.get(getStrategy()) ?? 'default';
  expect(hasStrategy()).toBe(who !== 'default');
  return inCrossReplicaContext() ? `across ${who}` : `replica ${getReplicaContext()?.replicaIdInSyncGroup} of ${who}`;
}

describe('scope', () => {
  it("makes its strategy current in cross-replica context, and returns the callback's result", () => {
    expect(one.scope(whereabouts)).toBe('across one');
    expect(whereabouts()).toBe('replica 0 of default');
  });

  it('lasts across awaits of its callback only, not for concurrent code', async () => {
    const seen = await Promise.all([
      one.scope(async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return whereabouts();
      }),
      other.scope(async () => whereabouts()),
      (async () => whereabouts())(),
    ]);
    expect(seen).toEqual(['across one', 'across other', 'replica 0 of default']);
  });

  it('can be nested in a scope of the same strategy', () => {
    expect(one.scope(() => one.scope(() => [whereabouts(), one.scope(whereabouts)]))).toEqual([
      'across one',
      'across one',
    ]);
  });

  it('cannot be entered inside the scope of another strategy', async () => {
    await expectContextError(() => one.scope(() => other.scope(() => {})), /^Mixing different strategies: scope/);
    await expectContextError(() => one.scope(() => other.scope()), /^Mixing different strategies/);
    expect(one.scope(whereabouts)).toBe('across one');
  });

  it('cannot be entered inside a replica', async () => {
    const inside = one.run(() => one.scope(() => {}));
    await expectContextError(() => inside, 'replica 0: scope requires being in cross-replica context');
  });

  it('ends when its callback throws', () => {
    expect(() =>
      one.scope(() => {
        throw new RangeError('inside');
      }),
    ).toThrow('inside');
    expect(whereabouts()).toBe('replica 0 of default');
  });
});

describe('a disposable scope', () => {
  it('lasts until it is disposed, and can be nested', () => {
    {
      using _outer = one.scope();
      {
        using _inner = one.scope();
        expect(whereabouts()).toBe('across one');
      }
      expect(whereabouts()).toBe('across one');
    }
    expect(whereabouts()).toBe('replica 0 of default');
  });

  it('ends for good, in whatever order nested scopes are disposed', () => {
    one.scope(() => {
      const outer = one.scope();
      const inner = one.scope();
      outer[Symbol.dispose]();
      expect(whereabouts()).toBe('across one');
      inner[Symbol.dispose]();
      inner[Symbol.dispose]();
      expect(whereabouts()).toBe('across one');
    });
    expect(whereabouts()).toBe('replica 0 of default');
  });

  it('ends for the caller too when an async function that used it has ended', async () => {
    const work = async () => {
      using _scope = one.scope();
      await new Promise((resolve) => setImmediate(resolve));
      return whereabouts();
    };
    expect(await work()).toBe('across one');
    expect(whereabouts()).toBe('replica 0 of default');
    expect(other.scope(whereabouts)).toBe('across other');
  });

  it('ends for code that was started inside it', async () => {
    let later: Promise<string>;
    {
      using _scope = one.scope();
      later = new Promise((resolve) => setImmediate(() => resolve(whereabouts())));
    }
    expect(await later).toBe('replica 0 of default');
  });
});

describe('the replica context', () => {
  it('is available inside a replica, also after awaits and in timers', async () => {
    const seen: string[] = [];
    await one.run(async (replica) => {
      seen.push(whereabouts());
      await new Promise((resolve) => setImmediate(resolve));
      expect(getReplicaContext()).toBe(replica);
      await replica.allReduce('sum', 1);
      await new Promise<void>((resolve) => {
        setTimeout(() => {
          expect(getReplicaContext()).toBe(replica);
          resolve();
        }, 0);
      });
      seen.push(whereabouts());
    });
    expect(seen).toEqual(['replica 0 of one', 'replica 1 of one', 'replica 0 of one', 'replica 1 of one']);
  });

  it('has the replica id and the device', async () => {
    const results = await one.run((replica) => ({
      id: replica.replicaIdInSyncGroup,
      of: replica.numReplicasInSync,
      devices: replica.devices,
      isOurs: replica.strategy === one,
    }));
    expect(one.experimentalLocalResults(results)).toEqual([
      { id: 0, of: 2, devices: ['/job:localhost/replica:0/task:0/device:CPU:0'], isOurs: true },
      { id: 1, of: 2, devices: ['/job:localhost/replica:0/task:0/device:CPU:1'], isOurs: true },
    ]);
  });

  it('is not available inside a merge call', async () => {
    const seen = await one.run((replica) => replica.mergeCall(() => whereabouts()));
    expect(seen).toBe('across one');
  });

  it.each([
    ['reduce', () => one.reduce('sum', 0, null)],
    ['gather', () => one.gather(0, 0)],
    ['run', () => one.run(() => 0)],
    ['reduceTo', () => one.extended.reduceTo('sum', 0, 'cpu:0')],
    ['batchReduceTo', () => one.extended.batchReduceTo('sum', [])],
    ['broadcastTo', () => one.extended.broadcastTo(0, 'cpu:0')],
    ['gatherTo', () => one.extended.gatherTo(0, 'cpu:0', 0)],
    ['experimentalDistributeValuesFromFunction', async () => one.experimentalDistributeValuesFromFunction(() => 0)],
  ] as const)('cannot be used to call %s of the strategy', async (method, call) => {
    const message = `^replica 0: ${method} requires being in cross-replica context: .*allGather`;
    await expectContextError(() => one.run(() => call() as Promise<unknown>), new RegExp(message));
  });
});

describe('a replica context used elsewhere', () => {
  it('refuses calls of other replicas', async () => {
    const contexts: ReplicaContext[] = [];
    const use = (replica: ReplicaContext) => {
      contexts.push(replica);
      return (contexts[0] as ReplicaContext).allReduce('sum', 1);
    };
    await expectContextError(
      () => one.run(use),
      /^replica 1: allReduce was called on the context of replica 0 by replica 1/,
    );
  });

  it.each(['allReduce', 'allGather', 'broadcast', 'mergeCall'] as const)(
    'refuses %s outside its replica function',
    async (method) => {
      let left: ReplicaContext | undefined;
      await one.run((replica) => {
        left = replica;
      });
      const call = () =>
        ({
          allReduce: () => left?.allReduce('sum', 1),
          allGather: () => left?.allGather(Float32Array.of(1), 0),
          broadcast: () => left?.broadcast(1),
          mergeCall: () => left?.mergeCall(() => 0),
        })[method]();
      await expectContextError(call, `^${method} must be called inside a replica function`, method);
      await expectContextError(() => one.scope(call), `^${method} must be called inside a replica function`, method);
      await expectContextError(() => other.scope(call), `^Mixing different strategies: ${method}`, method);
      await expectContextError(() => other.run(call), `^replica 0: Mixing different strategies: ${method}`);
    },
  );

  it('refuses merge calls inside a merge call', async () => {
    const nested = one.run((replica) => replica.mergeCall(() => replica.mergeCall(() => 0)));
    await expectContextError(() => nested, /^mergeCall must be called inside a replica function/);
  });
});

describe('a strategy whose scope is not entered', () => {
  it('works while the default strategy is current', async () => {
    expect(
      await one.reduce(
        'sum',
        one.experimentalDistributeValuesFromFunction(() => 1),
        null,
      ),
    ).toMatchObject({
      data: Float64Array.of(2),
    });
  });

  it.each<[string, () => Promise<unknown>]>([
    ['reduce', () => one.reduce('sum', 0, null)],
    ['gather', () => one.gather(0, 0)],
    ['run', () => one.run(() => 0)],
    ['reduceTo', () => one.extended.reduceTo('sum', 0, 'cpu:0')],
    ['batchReduceTo', () => one.extended.batchReduceTo('sum', [])],
    ['broadcastTo', () => one.extended.broadcastTo(0, 'cpu:0')],
    ['experimentalDistributeValuesFromFunction', async () => one.experimentalDistributeValuesFromFunction(() => 0)],
  ])('refuses %s inside the scope of another strategy', async (method, call) => {
    const message = new RegExp(`Mixing different strategies: ${method} of a MirroredStrategy`);
    await expectContextError(() => other.scope(call), message, method);
    await expectContextError(() => other.run(call), message, method);
    experimentalSetStrategy(other);
    await expectContextError(call, message, method);
  });
});

describe('the error for a method called in the wrong context', () => {
  const byDefault = getStrategy();
  const variable = one.extended.createVariable(1);
  const value = new PerReplica([1, 2]);
  const calls: readonly (readonly [method: string, call: (strategy: Strategy) => unknown])[] = [
    ['run', (strategy) => strategy.run(() => 1)],
    ['reduce', (strategy) => strategy.reduce('SUM', value, null)],
    ['experimentalDistributeDataset', (strategy) => strategy.experimentalDistributeDataset([[1]])],
    ['distributeDatasetsFromFunction', (strategy) => strategy.distributeDatasetsFromFunction(() => [[1]])],
    ['reduceTo', ({ extended }) => extended.reduceTo('SUM', value, 'cpu:0')],
    ['batchReduceTo', ({ extended }) => extended.batchReduceTo('SUM', [[value, 'cpu:0']])],
    ['broadcastTo', ({ extended }) => extended.broadcastTo(value, 'cpu:0')],
    ['update', ({ extended }) => extended.update(variable, () => 1)],
    ['gatherTo', ({ extended }) => extended.gatherTo(value, 'cpu:0', 0)],
  ];
  const more: typeof calls = [
    ['gather', (strategy) => strategy.gather(value, 0)],
    [
      'experimentalDistributeValuesFromFunction',
      (strategy) => strategy.experimentalDistributeValuesFromFunction(() => 1),
    ],
    ['readVar', ({ extended }) => extended.readVar(variable)],
  ];

  it.each([...calls, ...more])('names %s if another strategy is current', async (method, call) => {
    const message = new RegExp(`^Mixing different strategies: ${method} of a MirroredStrategy was called`);
    await expectContextError(() => other.scope(() => call(one)), message, method);
  });

  it.each(calls)('names %s of the default strategy', async (method, call) => {
    const message = new RegExp(`^Mixing different strategies: ${method} of a DefaultStrategy was called`);
    await expectContextError(() => other.scope(() => call(byDefault)), message, method);
  });

  it.each([...calls, ...more].filter(([method]) => method !== 'update'))(
    'names %s inside a replica of its strategy',
    async (method, call) => {
      const message = new RegExp(
        `^replica 0: ${method} requires being in cross-replica context: inside replica functions use the replica context`,
      );
      await expectContextError(() => one.run(async () => void (await call(one))), message, method);
    },
  );

  it.each<[method: string, call: (replica: ReplicaContext) => unknown]>([
    ['allReduce', (replica) => replica.allReduce('SUM', 1)],
    ['allReduce', (replica) => replica.allReduce('SUM', [Promise.resolve(1)])],
    ['allReduceSync', (replica) => replica.allReduceSync('SUM', 1)],
    ['allGather', (replica) => replica.allGather([1], 0)],
    ['allGatherSync', (replica) => replica.allGatherSync(Float32Array.of(1), 0)],
    ['broadcast', (replica) => replica.broadcast(1)],
    ['broadcastSync', (replica) => replica.broadcastSync(1)],
    ['allocate', (replica) => replica.allocate('float32', [1])],
    ['mergeCall', (replica) => replica.mergeCall(() => 1)],
  ])('names the method %s of a replica context that is called outside its replica', async (method, call) => {
    const replicas = one.experimentalLocalResults(await one.run((replica) => replica)) as readonly ReplicaContext[];
    const message = `^${method} must be called inside a replica function, not in cross-replica context`;
    await expectContextError(() => one.scope(() => call(replicas[1] as ReplicaContext)), new RegExp(message), method);
    const from = new RegExp(
      `${method} was called on the context of replica 1 by replica 0; each replica must use its own context`,
    );
    const calling = one.run(async (replica) => {
      if (replica.replicaIdInSyncGroup === 0) await call(replicas[1] as ReplicaContext);
    });
    await expectContextError(() => calling, from, method);
  });
});

it("replica ids on one worker are counted from the worker's first replica", () => {
  const strategy = { extended: { firstReplica: 4 } } as Strategy;
  const replica = { replicaIdInSyncGroup: 5, strategy } as ReplicaContext;
  expect(localIdOf(replica)).toBe(1);
  expect([componentHere({ strategy, replica }), componentHere({ strategy, update: 3 })]).toEqual([1, 3]);
  expect([componentHere({ strategy }), componentHere(undefined)]).toEqual([undefined, undefined]);
});

it("a distributed value used as a tensor inside a replica is the replica's component", async () => {
  const value = new PerReplica([tensor(5), tensor(6)]);
  const seen = one.experimentalLocalResults(await one.run(() => [...asTensor(value).data]));
  expect(seen).toEqual([[5], [6]]);
});
