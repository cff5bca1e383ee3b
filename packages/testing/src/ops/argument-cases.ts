import assert from 'node:assert/strict';
import {
  AssertionError,
  type Destinations,
  InternalError,
  InvalidArgumentError,
  PerReplica,
  ReduceOp,
  type ReducibleLike,
  type Tensor,
  ValueError,
} from '@coll/core';
import { assertRejects } from './assert-rejects.js';
import { componentOn, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { textOf } from './text-of.js';

/** Tests that invalid arguments are refused before any data is moved. */
export const argumentCases: OpsCases = {
  'refuses invalid destinations': refusesDestinations,
  'refuses invalid values': refusesValues,
  'refuses invalid ops': refusesOps,
  'refuses components that differ in shape or dtype': refusesUnlike,
  'refuses a value without components': refusesNoComponents,
  'refuses detached memory': refusesDetached,
};

const { SUM } = ReduceOp;

async function refusesDestinations(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const wrong: readonly unknown[] = [
    7,
    null,
    undefined,
    true,
    {},
    { devices: ['cpu:0'] },
    [1],
    ['cpu:0', 7],
    [value],
    Symbol('x'),
  ];
  const homeless = { ...value.primary, device: '' };
  const empty: readonly unknown[] = ['', [], [''], homeless, new PerReplica([homeless]), new PerReplica([])];
  for (const destinations of [...wrong, ...empty] as readonly Destinations[]) {
    for (const call of callsOf(subject, destinations)) {
      const title = `${call.name} to ${textOf(destinations)}`;
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

/** Calls of all methods that take destinations, with these destinations. */
function callsOf(subject: OpsSubject, destinations: Destinations): readonly NamedCall[] {
  const value = valueOn(subject.devices(2));
  return [
    { name: 'reduce', run: (cross) => cross.reduce(SUM, value, destinations) },
    {
      name: 'batchReduce',
      run: (cross) =>
        cross.batchReduce(SUM, [
          [value, value],
          [value, destinations],
        ]),
    },
    { name: 'broadcast', run: (cross) => cross.broadcast(value.primary, destinations) },
    { name: 'gather', run: (cross) => cross.gather(value, destinations, 0) },
  ];
}

async function refusesValues(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const device = subject.device(0);
  const component = componentOn(device, 0);
  const wrong: readonly unknown[] = [
    null,
    undefined,
    'three',
    {},
    [component, component],
    [1, 2],
    new PerReplica(['x']),
  ];
  for (const value of wrong as readonly ReducibleLike[]) {
    const title = textOf(value);
    await assertRejects(`reduce of ${title}`, cross.reduce(SUM, value, device), ValueError);
    await assertRejects(`batchReduce of ${title}`, cross.batchReduce(SUM, [[value, device]]), ValueError);
    await assertRejects(`broadcast of ${title}`, cross.broadcast(value as Tensor, device), ValueError);
    await assertRejects(`gather of ${title}`, cross.gather(value, device, 0), ValueError);
  }
  const broken = { ...component, shape: [5, 5] };
  await assertRejects('reduce of a shape that does not fit', cross.reduce(SUM, broken, device), ValueError);
  await assertRejects(
    'broadcast of a value that differs',
    cross.broadcast(valueOn(subject.devices(2)) as never, device),
    ValueError,
  );
}

async function refusesOps(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  for (const op of [
    'sum',
    'AVERAGE',
    '',
    undefined,
    null,
    3,
    'toString',
  ] as readonly unknown[] as readonly ReduceOp[]) {
    for (const destinations of [value, subject.device(0)]) {
      const title = `the op ${textOf(op)}`;
      await assertRejects(title, cross.reduce(op, value, destinations), ValueError);
      await assertRejects(`a batch with ${title}`, cross.batchReduce(op, [[value, destinations]]), ValueError);
    }
  }
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
      const batch = cross.batchReduce(SUM, [
        [valueOn(devices), destinations],
        [value, destinations],
      ]);
      await assertRejects('unlike shapes in a batch', batch, InvalidArgumentError);
    }
    const error = await assertRejects('unlike dtypes', cross.reduce(SUM, otherDType, destinations), InternalError);
    assert.equal(error.rank, last, 'error.rank is the replica whose dtype differs');
    await assertRejects(
      'unlike dtypes in a batch',
      cross.batchReduce(SUM, [[otherDType, destinations]]),
      InternalError,
    );
  }
}

async function refusesNoComponents(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const device = subject.device(0);
  const { message } = await assertRejects(
    'reduce of a value without components',
    cross.reduce(SUM, new PerReplica([]), device),
    ValueError,
  );
  assert.match(message, /non-empty/, 'the message says that the value must be non-empty');
  await assertRejects(
    'batchReduce of a value without components',
    cross.batchReduce(SUM, [[new PerReplica([]), device]]),
    ValueError,
  );
  await assertRejects('gather of a value without components', cross.gather(new PerReplica([]), device, 0), ValueError);
}

async function refusesDetached(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const { buffer } = (value.values[1] as Tensor).data;
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  for (const destinations of [subject.devices(2), subject.device(0)]) {
    await assertRejects('reduce of detached memory', cross.reduce(SUM, value, destinations), ValueError);
    await assertRejects('batchReduce of detached memory', cross.batchReduce(SUM, [[value, destinations]]), ValueError);
    await assertRejects('gather of detached memory', cross.gather(value, destinations, 0), ValueError);
  }
  await assertRejects(
    'broadcast of detached memory',
    cross.broadcast(value.values[1] as Tensor, subject.device(0)),
    ValueError,
  );
}
