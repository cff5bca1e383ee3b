import { expect, it } from 'vitest';
import type { Selection } from '../src/suites/selection.js';
import { suites } from '../src/suites/suites.js';
import { bytesOf, type Overlap, type SuiteName, type Trial } from '../src/trial.js';

const selection: Selection = {
  isQuick: true,
  engines: ['native', 'wasm', 'js'],
  peers: ['openmpi'],
  hasBound: true,
  algorithms: ['direct'],
  places: ['in'],
  forms: undefined,
  inputs: undefined,
  bytes: undefined,
  networks: undefined,
  transports: ['shared-memory', 'tcp'],
};

function trialsOf(suite: SuiteName, wanted: Partial<Selection> = {}, ranks = 2): Trial[] {
  const pieces = suites[suite]({ ...selection, ...wanted }, ranks).flatMap((session) => session.pieces);
  return pieces.flat().flatMap(({ trials }) => trials);
}

const subjectOf = ({ engine, form, input }: Trial) => [engine, form, input].filter(Boolean).join(' ');

it('the all-reduce suite covers 4 B to 256 MiB', () => {
  const sizesOf = (trials: readonly Trial[]) => [...new Set(trials.map(bytesOf))].sort((a, b) => a - b);
  expect(sizesOf(trialsOf('in-process'))).toEqual([4, 64, 1024, 16_384, 262_144, 4_194_304, 67_108_864]);
  expect(sizesOf(trialsOf('in-process', { isQuick: false })).at(-1)).toBe(256 * 2 ** 20);
});

it('a suite measures the memory-bandwidth bound and coll for each size, then each peer library', () => {
  const [first, second] = suites['in-process']({ ...selection, bytes: [4, 64, 2 ** 20] }, 2);
  const size = [
    ...['copy still', 'bound still,bound fresh'],
    ...['native sync still', 'native sync fresh', 'native async still', 'native controller still'],
    ...['wasm sync still', 'wasm sync fresh', 'js sync still', 'js sync fresh'],
  ];
  const peers = (count: number) => Array.from({ length: count }, () => 'peer still,peer fresh').join();
  const turnsOf = (session: typeof first) => session?.pieces[0]?.map(({ trials }) => trials.map(subjectOf).join());
  expect(turnsOf(first)).toEqual([...size, ...size, peers(2)]);
  expect(turnsOf(second)).toEqual([...size, peers(1)]);
});

it('a suite contains only the requested call forms, inputs and placements', () => {
  const trials = trialsOf('in-process', {
    bytes: [4],
    engines: ['wasm'],
    forms: ['async'],
    inputs: ['fresh'],
    places: ['in', 'out'],
  });
  expect(trials.map((trial) => `${subjectOf(trial)} ${trial.place}`)).toEqual([
    'copy still in',
    'bound fresh in',
    'wasm async fresh in',
    'wasm async fresh out',
    'peer fresh in',
    'peer fresh out',
  ]);
});

it('a suite omits engines that share memory if there is not enough of it', () => {
  const enginesOf = (trials: readonly Trial[]) => [...new Set(trials.map(({ engine }) => engine))].join();
  const large = { bytes: [256 * 2 ** 20], places: ['in', 'out'] as const };
  expect(enginesOf(trialsOf('in-process', large, 2))).toBe('copy,bound,native,wasm,js,peer');
  const crowded = trialsOf('in-process', large, 4).filter(({ place }) => place === 'out');
  expect(enginesOf(crowded)).toBe('native,peer');
  expect(enginesOf(trialsOf('gradients', { isQuick: false }, 2))).toBe('copy,bound,native,wasm,js,peer');
  expect(enginesOf(trialsOf('gradients', { networks: ['bert-base'] }, 4))).toBe('copy,bound,native,wasm,js,peer');
  expect(enginesOf(trialsOf('packing', { networks: ['bert-base'], forms: ['sync'] }, 4))).toBe('copy,bound,native');
});

it('the gradients suite passes all tensors to coll in one call, and to peer libraries one by one', () => {
  const trials = trialsOf('gradients').filter(({ engine, form }) => engine === 'peer' || form === 'sync');
  expect(trials.map(({ name, engine, work, counts }) => [name, engine, work.type, counts.length])).toEqual([
    ['resnet50 fused', 'native', 'collective', 1],
    ['resnet50 per tensor', 'native', 'batch', 161],
    ['resnet50 pieces', 'native', 'pieces', 161],
    ['resnet50 fused', 'wasm', 'collective', 1],
    ['resnet50 per tensor', 'wasm', 'batch', 161],
    ['resnet50 pieces', 'wasm', 'pieces', 161],
    ['resnet50 fused', 'js', 'collective', 1],
    ['resnet50 per tensor', 'js', 'batch', 161],
    ['resnet50 pieces', 'js', 'pieces', 161],
    ['resnet50 fused', 'peer', 'collective', 1],
    ['resnet50 per tensor', 'peer', 'collective', 161],
  ]);
});

it('timers are counted only for calls that are awaited', () => {
  const ticking = trialsOf('event-loop').filter(({ work }) => work.type === 'ticking');
  expect(ticking.map(subjectOf)).toEqual(['native async still', 'native controller still']);
  expect(trialsOf('event-loop', { forms: ['sync'] })).toEqual([]);
});

it('collectives that exchange blocks have lengths that are divisible by the number of ranks', () => {
  const trials = trialsOf('collectives', { bytes: [4, 100, 1024] }, 3);
  expect([...new Set(trials.map(bytesOf))]).toEqual([12, 96, 1020]);
});

it('the packing suite packs gradients by number of packs, by bytes per pack, and small gradients only', () => {
  const works = trialsOf('packing', { engines: ['js'], forms: ['sync'], isQuick: false, networks: ['resnet50'] })
    .map(({ work }) => work)
    .filter(({ type }) => type === 'batch');
  expect(works).toMatchObject([
    ...[0, 1, 4].map((numPacks) => ({ bytesPerPack: 0, packing: { numPacks } })),
    ...[1, 25, 50].map((mebibytes) => ({ bytesPerPack: mebibytes * 2 ** 20 })),
    { bytesPerPack: 0, packing: { numPacks: 0, aggSmallGradsMaxBytes: 65_536 } },
  ]);
});

it('the overlap suite computes gradients without reducing them, and reduces them afterwards or meanwhile', () => {
  const trials = trialsOf('overlap', { engines: ['js'] }).filter(({ work }) => work.type === 'overlap');
  const orders = ['computed', 'after', 'overlapped'];
  expect(trials.map(({ work }) => (work as Overlap).order)).toEqual([...orders, ...orders]);
  expect(trials.map(({ work }) => (work as Overlap).isBusy)).toEqual([false, false, false, true, true, true]);
  // The file begins with the last layer, of 1000 classes.
  expect(trials[0]?.counts.slice(-2)).toContain(1000);
});

const called = (trials: readonly Trial[]) =>
  trials
    .filter(({ engine }) => engine !== 'copy' && engine !== 'bound')
    .map(({ name, form, place }) => [name, form, place].filter(Boolean).join(' '));

it('the strategy suite measures every way to call, the communicators below, and peer libraries', () => {
  const wanted = {
    bytes: [1024],
    engines: ['native'],
    places: ['in', 'out'],
    peers: ['mpi4py', 'gloo', 'torch'],
  } as const;
  const ways = (name: string, form: string) => [
    ...['', ' of new memory', ' into a new result', ' of new memory into a new result'].map(
      (words) => `${name}${words} ${form} in`,
    ),
    ...[': new memory alone', ': new memory and result alone'].map((words) => `${name}${words} ${form} in`),
    ...[' into other memory', ' into new memory'].map((words) => `${name}${words} ${form} out`),
  ];
  const shared = { ...wanted, transports: ['shared-memory'] } as const;
  expect(called(trialsOf('strategy', shared))).toEqual([
    ...['communicator direct sync in', ...ways('allReduceSync direct', 'sync')],
    ...['communicator direct async in', ...ways('allReduce direct', 'async')],
    ...['communicator direct controller in', ...ways('allReduce direct', 'controller')],
    ...['communicator over shared-memory sync in', ...ways('allReduceSync over shared-memory', 'sync')],
    ...['communicator over shared-memory async in', ...ways('allReduce over shared-memory', 'async')],
    ...['mpi4py still in', 'mpi4py still out of place out'],
    ...['torch still in', 'torch still out of place out'],
  ]);
});

it('the strategy suite measures gradients of networks as lists, unless only sizes are requested', () => {
  const wanted = { engines: ['native'], peers: ['mpi4py'] } as const;
  const lists = trialsOf('strategy', wanted).filter(({ gradients }) => gradients !== undefined);
  expect(called(lists)).toEqual([
    ...['', ' of new memory', ' into a new result', ' of new memory into a new result'].map(
      (words) => `resnet50 allReduceSync direct${words} sync in`,
    ),
    'resnet50 allReduceSync direct: new memory alone sync in',
    'resnet50 allReduceSync direct: new memory and result alone sync in',
    'resnet50 mpi4py still in',
  ]);
  for (const { counts } of lists) expect(counts).toHaveLength(161);
  const networksOf = (selected: Partial<Selection>) => [
    ...new Set(trialsOf('strategy', { ...wanted, ...selected }).flatMap(({ gradients }) => gradients ?? [])),
  ];
  expect(networksOf({ bytes: [4] })).toEqual([]);
  expect(networksOf({ bytes: [4], networks: ['gpt2-small'] })).toEqual(['gpt2-small']);
});

it('no two trials of a suite have the same name, engine, form and size', () => {
  for (const suite of ['strategy', 'ops', 'runs', 'cold'] as const) {
    const trials = trialsOf(suite, { places: ['in', 'out'], algorithms: ['direct', 'ring'] });
    const names = trials.map((trial) => `${trial.name} ${subjectOf(trial)} ${bytesOf(trial)}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  }
});

it('the ops suite measures reduce, and batchReduce of 100 pairs up to 64 KiB, in one thread', () => {
  const trials = trialsOf('ops', { isQuick: false }).filter(({ engine }) => engine === 'native');
  const sizesOf = (type: string) => [
    ...new Set(trials.filter(({ work }) => work.type === type).map(({ counts }) => (counts[0] as number) * 4)),
  ];
  expect(sizesOf('reduce')).toEqual([4, 1024, 65_536, 2 ** 20, 16 * 2 ** 20]);
  expect(sizesOf('batch')).toEqual([4, 1024, 65_536]);
  expect(new Set(trials.filter(({ work }) => work.type === 'batch').map(({ counts }) => counts.length))).toEqual(
    new Set([100]),
  );
  expect(new Set(trials.map(({ form }) => form))).toEqual(new Set(['controller']));
});

it('the runs suite measures a module in worker threads and a function in one thread', () => {
  const cases = called(trialsOf('runs', { bytes: [4] }));
  expect(cases).toEqual(['run of a module async in', 'run of a function controller in']);
  expect(called(trialsOf('runs', { bytes: [4], forms: ['sync'] }))).toEqual([]);
});

it('the cold suite measures the means of the first calls, each in a process that is started for it', () => {
  const turns = suites.cold({ ...selection, isQuick: false, peers: ['mpi4py'], bytes: [4] }, 2)[0]?.pieces[0] ?? [];
  const [copy, ...others] = turns;
  expect(copy?.venue).toBe('main-thread');
  expect(others.filter(({ venue }) => !venue.startsWith('fresh-'))).toEqual([]);
  for (const { trials } of others) expect(trials.map(({ first }) => first)).toEqual([100, 2000, 10_000]);
  expect(others.map(({ trials }) => trials[0]?.name)).toEqual(
    [
      ...['threads', 'threads of new memory', 'processes', 'processes of new memory'],
      ...['one thread', 'one thread of new memory', 'reduce', 'reduce of new memory'],
      ...['run of a module', 'run of a function', 'mpi4py still'],
    ].map((call) => `${call}, first 100 calls`),
  );
});

it('the processes suite measures processes, threads, and peer libraries over the same transport', () => {
  const wanted = { bytes: [1024], peers: ['openmpi', 'openmpi-tcp', 'gloo'] } as const;
  const names = (transport: 'shared-memory' | 'tcp') =>
    trialsOf('processes', { ...wanted, transports: [transport] })
      .filter(({ engine }) => engine !== 'copy' && engine !== 'bound')
      .map(({ name, form }) => [name, form].filter(Boolean).join(' '));
  const of = (first: string) => [`${first} still`, `${first} fresh`];
  expect(names('tcp')).toEqual([
    'direct ordinary still sync',
    'direct ordinary fresh sync',
    'direct ordinary still async',
    ...of('openmpi-tcp'),
    ...of('gloo'),
  ]);
  expect(names('shared-memory').slice(0, 3)).toEqual([
    'direct threads still sync',
    'direct arena still sync',
    'direct ordinary still sync',
  ]);
  expect(names('shared-memory').slice(-2)).toEqual(of('openmpi'));
});

it('the mpi suite measures @coll/mpi on each MPI library among the peers, between runs of the same C program', () => {
  const trials = trialsOf('mpi', { bytes: [1024], peers: ['mpich', 'gloo'] }).filter(({ engine }) => engine !== 'copy');
  expect(trials.map(({ name, peer, form }) => [name, peer ?? form])).toEqual([
    ['mpich, C program', 'mpich-nonblocking'],
    ['mpich, @coll/mpi', 'sync'],
    ['mpich, @coll/mpi', 'async'],
    ['mpich, blocking', 'mpich'],
    ['mpich, C program again', 'mpich-nonblocking'],
  ]);
  expect(trialsOf('mpi', { peers: [] })).toEqual([]);
});
