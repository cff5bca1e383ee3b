import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { directAlgorithm } from '@coll/direct';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { describe, expect, it } from 'vitest';
import { rejection } from '../../test/thrown.js';
import { ReduceOp, reduceOpFrom } from '../collectives/reduce-op.js';
import { resolveEngine } from '../engines/engines.js';
import { addN, combine } from '../kernels/arithmetic.js';
import { concatAlong } from '../kernels/concat-along.js';
import { definePlugin, type Plugin } from '../plugins/plugin.js';
import { createRegistry } from '../plugins/registry.js';
import { verify } from '../schedule/verify.js';
import { stitchValues } from '../sparse/sparse.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup, failThreadGroup } from '../threads/thread-group.js';
import { validateDestinations } from '../values/destinations.js';
import { canonicalize } from '../values/device.js';
import { PerReplica } from '../values/distributed-values.js';
import { selectReplicaMirrored } from '../values/regroup.js';
import { tensor, tensorSymbol } from '../values/tensor.js';
import { CollError, type ErrorCode } from './errors.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;
const [one, other] = [[tensor([1])], [tensor([1])]];
const bytes = tensor([1], { dtype: 'int8' });
const plugin = definePlugin({ name: 'mine', module: 'file:///mine.js', create: () => new ReductionToOneDevice() });

function alone(): ReferenceCommunicator {
  return new ReferenceCommunicator({ size: 1, algorithm: directAlgorithm() });
}

function two() {
  const group = createThreadGroup({ size: 2, maxBytes: 2 ** 16, spins: 0 });
  const join = (rank: number) => new ThreadCommunicator(group, { rank, algorithm: directAlgorithm() });
  return { group, first: join(0), second: join(1) };
}

/** For each error code of core, a function that causes it. */
const provocations: Readonly<Partial<Record<ErrorCode, () => unknown>>> = {
  ERR_COLL_ABORTED: () => alone().run(sum, one, other, { signal: AbortSignal.abort() }),
  ERR_COLL_API_VERSION: () => createRegistry().register({ ...plugin, apiVersion: 99 }),
  ERR_COLL_BUFFER: () => tensor(new Float32Array(1), { dtype: 'int8' }),
  ERR_COLL_BUSY: async () => {
    const { first } = two();
    const running = rejection(first.run(sum, one, other));
    const error = await rejection((async () => first.runSync(sum, one, other))());
    await first.close();
    await running;
    throw error;
  },
  ERR_COLL_CLOSED: async () => {
    const communicator = alone();
    await communicator.close();
    await communicator.run(sum, one, other);
  },
  ERR_COLL_CONTEXT: () => new PerReplica(one)[tensorSymbol](),
  ERR_COLL_DEADLINE: () => two().first.runSync(sum, one, other, { timeoutSeconds: 0.001 }),
  ERR_COLL_DESTINATION: () => validateDestinations(''),
  ERR_COLL_DEVICE: () => canonicalize('nowhere'),
  ERR_COLL_DTYPE_MISMATCH: () => addN([...one, bytes]),
  ERR_COLL_DUPLICATE_PLUGIN: () => {
    const registry = createRegistry();
    registry.register(plugin);
    registry.register({ ...plugin, module: 'file:///other.js' });
  },
  ERR_COLL_INTERNAL: () =>
    stitchValues([
      [
        ['a', 'b'],
        [0, 0],
      ],
    ]),
  ERR_COLL_MISMATCH: async () => {
    const { first, second } = two();
    const runs = [first.run(sum, one, other), second.run({ kind: 'all-reduce', op: 'max' }, one, other)];
    const errors = await Promise.all(runs.map(rejection));
    throw errors[1];
  },
  ERR_COLL_NOT_IMPLEMENTED: () => new ReductionToOneDevice().allReduce(ReduceOp.SUM, 1, 0),
  ERR_COLL_NO_ENGINE: () => resolveEngine('native'),
  ERR_COLL_NO_PLUGIN: () => createRegistry().resolve('auto'),
  ERR_COLL_PEER_FAILED: () => {
    const { group, first } = two();
    failThreadGroup(group, 1, 'ran out of memory');
    first.runSync(sum, one, other);
  },
  ERR_COLL_PLUGIN: () => createRegistry().register({} as Plugin),
  ERR_COLL_RANGE: () => concatAlong(one, 1),
  ERR_COLL_REFUSED: () => combine('mean', [tensor([1], { dtype: 'bool' })]),
  ERR_COLL_SCHEDULE: () => verify({ ranks: 2, chunks: 1, rounds: [] }, sum),
  ERR_COLL_SHAPE_MISMATCH: () => addN([...one, tensor(1)]),
  ERR_COLL_TYPE: () => selectReplicaMirrored(0, new PerReplica(one)),
  ERR_COLL_UNKNOWN_PLUGIN: () => createRegistry().get('other'),
  ERR_COLL_VALUE: () => reduceOpFrom('average'),
};

const core = path.resolve(import.meta.dirname, '..');
const repository = path.resolve(core, '../../..');

/** The text of all sources below a folder, without tests. */
function sourcesBelow(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => file.endsWith('.ts') && !/\.test(-d)?\.ts$/.test(file));
  return sources.map((file) => readFileSync(path.join(folder, file), 'utf8')).join('\n');
}

/**
 * The error codes in a source text, each with its classes: those constructed with the code, and
 * those with a fixed code.
 */
function raisedIn(text: string): Map<string, Set<string>> {
  const raised = new Map<string, Set<string>>();
  const made = [...text.matchAll(/new (\w+)\(\s*'(ERR_COLL_\w+)'/g)].map(([, name, code]) => [name, code]);
  const fixed = [...text.matchAll(/class (\w+) extends [^}]*?code: ErrorCode = '(ERR_COLL_\w+)'/g)];
  for (const [name, code] of [...made, ...fixed.map(([, name, code]) => [name, code])] as [string, string][]) {
    raised.set(code, (raised.get(code) ?? new Set()).add(name));
  }
  return raised;
}

/** The rows of the table in the docs. */
function rowsOf(markdown: string): { code: string; classes: string[]; when: string }[] {
  const lines = markdown.split('\n').filter((line) => line.startsWith('| `ERR_COLL_'));
  return lines.map((line) => {
    const [, code = '', classes = '', when = ''] = line.split('|').map((cell) => cell.trim());
    return { code: code.replaceAll('`', ''), classes: classes.replaceAll('`', '').split(', '), when };
  });
}

const [union = ''] = /export type ErrorCode =[^;]*;/.exec(sourcesBelow(core)) ?? [];
const codes = [...union.matchAll(/ERR_COLL_\w+/g)].map(([code]) => code);
const rows = rowsOf(readFileSync(path.join(repository, 'docs/reference/errors.md'), 'utf8'));
const packages = ['packages', 'native'].flatMap((parent) =>
  readdirSync(path.join(repository, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(repository, parent, name)),
);
const raised = raisedIn(packages.map((folder) => sourcesBelow(path.join(folder, 'src'))).join('\n'));

describe('each error code', () => {
  it('has one row in docs/reference/errors.md, in the order of errors.ts, with no other rows', () => {
    expect(codes.length).toBeGreaterThan(20);
    expect(new Set(codes).size).toBe(codes.length);
    expect(rows.map(({ code }) => code)).toEqual(codes);
  });

  it('is thrown by some package, or its row in docs/reference/errors.md says that it is not raised yet', () => {
    const notYet = rows.filter(({ when }) => when.startsWith('not raised yet')).map(({ code }) => code);
    expect([...raised.keys(), ...notYet].sort()).toEqual(codes.toSorted());
  });

  it('is thrown with the classes that its row in docs/reference/errors.md lists', () => {
    const documented = rows.filter(({ code }) => raised.has(code));
    expect(documented.map(({ code, classes }) => [code, classes.toSorted()])).toEqual(
      documented.map(({ code }) => [code, [...(raised.get(code) ?? [])].sort()]),
    );
  });

  it('of @coll/core is provoked by a call in this test', () => {
    expect(Object.keys(provocations)).toEqual([...raisedIn(sourcesBelow(core)).keys()].sort());
  });
});

it.each(Object.entries(provocations))(
  'the error code %s is thrown with an error class that its row in docs/reference/errors.md lists',
  async (code, provoke) => {
    const error = await rejection((async () => provoke())());
    expect(error).toBeInstanceOf(CollError);
    expect(error).toMatchObject({ code, message: expect.stringMatching(/\w{3}/) });
    const row = rows.find((candidate) => candidate.code === code);
    const builtIns: Readonly<Record<string, string>> = { WrongTypeError: 'TypeError', OutOfRangeError: 'RangeError' };
    expect(row?.classes.map((name) => builtIns[name] ?? name)).toContain((error as Error).name);
  },
);
