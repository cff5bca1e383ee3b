import assert from 'node:assert/strict';
import {
  AssertionError,
  CollectiveHints,
  CommunicationOptions,
  type Destinations,
  InternalError,
  InvalidArgumentError,
  type ReducibleLike,
  ReduceOp,
  type Tensor,
  ValueError,
  PerReplica,
  setLogSink,
} from '@coll/core';
import { assertRejects } from './assert-rejects.js';
import { assertEverywhere } from './assert-value.js';
import { combinedElements, componentOn, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';

/** What is wrong with arguments is said before any byte moves, and always in the same order. */
export const argumentCases: OpsCases = {
  'refuses destinations that are none': refusesDestinations,
  'refuses values that are none': refusesValues,
  'refuses ops that are none': refusesOps,
  'takes options in every form': takesOptions,
  'refuses wrong options': refusesOptions,
  'looks at options, then the value, then destinations, then the op': checksInOrder,
  'refuses components that differ in shape or dtype': refusesUnlike,
  'refuses a value without components': refusesNoComponents,
  'refuses detached memory': refusesDetached,
};

const { SUM } = ReduceOp;

async function refusesDestinations(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const wrong: readonly unknown[] = [7, null, undefined, true, {}, { devices: ['cpu:0'] }, [1], ['cpu:0', 7], [value], Symbol('x')];
  const homeless = { ...value.primary, device: '' };
  const empty: readonly unknown[] = ['', [], [''], homeless, new PerReplica([homeless]), new PerReplica([])];
  for (const destinations of [...wrong, ...empty] as readonly Destinations[]) {
    for (const call of callsOf(subject, destinations)) {
      const title = `${call.name} to ${describe(destinations)}`;
      await assertRejects(title, call.run(cross), ValueError, 'ERR_COLL_DESTINATION');
    }
  }
  for (const call of callsOf(subject, 'nowhere:0')) {
    await assertRejects(`${call.name} to no device`, call.run(cross), ValueError, 'ERR_COLL_DEVICE');
  }
  const [first] = subject.devices(1) as readonly [string];
  for (const call of callsOf(subject, [first, first])) {
    await assertRejects(`${call.name} to one device twice`, call.run(cross), AssertionError);
  }
}

type Cross = Awaited<ReturnType<OpsSubject['create']>>;

interface NamedCall {
  readonly name: string;
  run(cross: Cross): Promise<unknown>;
}

/** Every method that takes destinations. */
function callsOf(subject: OpsSubject, destinations: Destinations): readonly NamedCall[] {
  const value = valueOn(subject.devices(2));
  return [
    { name: 'reduce', run: (cross) => cross.reduce(SUM, value, destinations) },
    { name: 'batchReduce', run: (cross) => cross.batchReduce(SUM, [[value, value], [value, destinations]]) },
    { name: 'broadcast', run: (cross) => cross.broadcast(value.primary, destinations) },
    { name: 'gather', run: (cross) => cross.gather(value, destinations, 0) },
  ];
}

async function refusesValues(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const device = subject.device(0);
  const component = componentOn(device, 0);
  const wrong: readonly unknown[] = [null, undefined, 'three', {}, [component, component], [1, 2], new PerReplica(['x'])];
  for (const value of wrong as readonly ReducibleLike[]) {
    const title = describe(value);
    await assertRejects(`reduce of ${title}`, cross.reduce(SUM, value, device), ValueError);
    await assertRejects(`batchReduce of ${title}`, cross.batchReduce(SUM, [[value, device]]), ValueError);
    await assertRejects(`broadcast of ${title}`, cross.broadcast(value as Tensor, device), ValueError);
    await assertRejects(`gather of ${title}`, cross.gather(value, device, 0), ValueError);
  }
  const broken = { ...component, shape: [5, 5] };
  await assertRejects('reduce of a shape that does not fit', cross.reduce(SUM, broken, device), ValueError);
  await assertRejects('broadcast of a value that differs', cross.broadcast(valueOn(subject.devices(2)) as never, device), ValueError);
}

async function refusesOps(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  for (const op of ['sum', 'AVERAGE', '', undefined, null, 3, 'toString'] as readonly unknown[] as readonly ReduceOp[]) {
    for (const destinations of [value, subject.device(0)]) {
      const title = `the op ${describe(op)}`;
      await assertRejects(title, cross.reduce(op, value, destinations), ValueError);
      await assertRejects(`a batch with ${title}`, cross.batchReduce(op, [[value, destinations]]), ValueError);
    }
  }
}

async function takesOptions(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  setLogSink(() => {});
  const value = valueOn(subject.devices(2));
  const expected = { dtype: 'float32', shape: [2, 3], elements: combinedElements(SUM, value.values) } as const;
  const options = new CommunicationOptions({ bytesPerPack: 8, timeoutSeconds: 5, implementation: 'ring' });
  const forms = [
    undefined,
    null,
    {},
    options,
    new CollectiveHints({ bytesPerPack: 8 }),
    { bytesPerPack: 8 },
    { timeoutSeconds: 0 },
    { timeoutSeconds: null },
    { options },
    { experimentalHints: options },
    { experimentalHints: new CollectiveHints({ timeoutSeconds: 5 }) },
    { bytesPerPack: 4, options, signal: new AbortController().signal },
  ];
  for (const form of forms) {
    const title = `with options ${describe(form)}`;
    const reduced = await cross.reduce(SUM, value, value, form as undefined);
    assertEverywhere(`reduce ${title}`, reduced, value.devices, expected);
    const [batched] = await cross.batchReduce(SUM, [[value, value]], form as undefined);
    assertEverywhere(`batchReduce ${title}`, batched, value.devices, expected);
    await cross.gather(value, value, 0, form as undefined);
  }
  setLogSink();
}

const wrongOptions = () => {
  const options = new CommunicationOptions();
  return [
    7,
    'ring',
    { options, experimentalHints: options },
    { bytesPerPack: -1 },
    { bytesPerPack: Number.NaN },
    { implementation: 'mpi' },
    { options: 7 },
  ] as readonly unknown[] as readonly never[];
};

async function refusesOptions(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  for (const options of wrongOptions()) {
    const title = `with options ${describe(options)}`;
    await assertRejects(`reduce ${title}`, cross.reduce(SUM, value, value, options), ValueError);
    await assertRejects(`batchReduce ${title}`, cross.batchReduce(SUM, [[value, value]], options), ValueError);
    await assertRejects(`gather ${title}`, cross.gather(value, value, 0, options), ValueError);
  }
}

async function checksInOrder(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const [noOptions] = wrongOptions() as readonly [never];
  const noValue = null as never;
  const noPlace = 7 as never;
  const noOp = 'nonsense' as ReduceOp;
  const isAbout = async (word: RegExp, promise: Promise<unknown>) => {
    const { message } = await assertRejects('several wrong arguments', promise, ValueError);
    assert.match(message, word, 'the first wrong argument is the one that the error is about');
  };
  await isAbout(/options/, cross.reduce(noOp, noValue, noPlace, noOptions));
  await isAbout(/value/, cross.reduce(noOp, noValue, noPlace));
  await isAbout(/destinations/, cross.reduce(noOp, value, noPlace));
  await isAbout(/nonsense/, cross.reduce(noOp, value, value));
  await isAbout(/options/, cross.batchReduce(noOp, [[noValue, noPlace]], noOptions));
  await isAbout(/value/, cross.batchReduce(noOp, [[noValue, noPlace]]));
  await isAbout(/destinations/, cross.batchReduce(noOp, [[value, value], [value, noPlace]]));
  await isAbout(/nonsense/, cross.batchReduce(noOp, [[value, value]]));
  await isAbout(/options/, cross.gather(noValue, noPlace, -1, noOptions));
  await isAbout(/value/, cross.gather(noValue, noPlace, -1));
  await isAbout(/destinations/, cross.gather(value, noPlace, -1));
}

async function refusesUnlike(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const last = devices.length - 1;
  const withLast = (odd: Tensor) => new PerReplica([...valueOn(devices.slice(0, last)).values, odd]);
  const otherShape = withLast(componentOn(devices[last] as string, last, { shape: [3, 2] }));
  const otherRank = withLast(componentOn(devices[last] as string, last, { shape: [6] }));
  const otherDType = withLast(componentOn(devices[last] as string, last, { dtype: 'int32' }));
  for (const destinations of [devices, devices[0] as string]) {
    for (const value of [otherShape, otherRank]) {
      const error = await assertRejects('unlike shapes', cross.reduce(SUM, value, destinations), InvalidArgumentError);
      assert.equal(error.rank, last, 'error.rank is the replica whose shape differs');
      const batch = cross.batchReduce(SUM, [[valueOn(devices), destinations], [value, destinations]]);
      await assertRejects('unlike shapes in a batch', batch, InvalidArgumentError);
    }
    const error = await assertRejects('unlike dtypes', cross.reduce(SUM, otherDType, destinations), InternalError);
    assert.equal(error.rank, last, 'error.rank is the replica whose dtype differs');
    await assertRejects('unlike dtypes in a batch', cross.batchReduce(SUM, [[otherDType, destinations]]), InternalError);
  }
}

async function refusesNoComponents(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const device = subject.device(0);
  const { message } = await assertRejects('reduce of nothing', cross.reduce(SUM, new PerReplica([]), device), ValueError);
  assert.match(message, /non-empty/, 'the message says that the value must be non-empty');
  await assertRejects('batchReduce of nothing', cross.batchReduce(SUM, [[new PerReplica([]), device]]), ValueError);
  await assertRejects('gather of nothing', cross.gather(new PerReplica([]), device, 0), ValueError);
}

async function refusesDetached(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const { buffer } = value.values[1]?.data as Tensor['data'];
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  for (const destinations of [subject.devices(2), subject.device(0)]) {
    await assertRejects('reduce of detached memory', cross.reduce(SUM, value, destinations), ValueError);
    await assertRejects('batchReduce of it', cross.batchReduce(SUM, [[value, destinations]]), ValueError);
    await assertRejects('gather of it', cross.gather(value, destinations, 0), ValueError);
  }
  await assertRejects('broadcast of it', cross.broadcast(value.values[1] as Tensor, subject.device(0)), ValueError);
}

function describe(value: unknown): string {
  if (typeof value === 'symbol') return 'a symbol';
  const name = Object(value).constructor?.name;
  return typeof value === 'object' && value !== null ? `${name} ${JSON.stringify(value)?.slice(0, 80)}` : String(value);
}
