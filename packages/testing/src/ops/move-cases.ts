import assert from 'node:assert/strict';
import {
  dtypes,
  IndexedSlices,
  InternalError,
  InvalidArgumentError,
  Mirrored,
  NotImplementedError,
  PerReplica,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from '@coll/core';
import { assertRejects } from './assert-rejects.js';
import { assertEverywhere, assertPlaced, assertSeparate, assertSlices, assertTensor, like } from './assert-value.js';
import { componentOn, valueOn } from './contributed-values.js';
import type { OpsCases, OpsSubject } from './ops-subject.js';
import { Unchanged } from './unchanged.js';

/** Tests of `broadcast` and `gather`, which move values without combining them. */
export const moveCases: OpsCases = {
  'broadcasts every dtype to every kind of destination': broadcasts,
  'broadcasts the values and indices of sparse values': broadcastsSparse,
  'gathers along every axis': gathers,
  'gathers every dtype': gathersEveryDType,
  'gathers components of unequal length': gathersUnequal,
  'gathers to one device, to several, and to other devices': gathersToDestinations,
  'copies a single component whatever the axis': gathersSingle,
  'refuses an invalid axis': refusesAxes,
  'refuses to gather components that do not match': refusesUnlike,
  'refuses to gather sparse values, whatever the other arguments': refusesSparse,
};

async function broadcasts(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const devices = subject.devices(3);
  const target = valueOn(devices, { seed: 3 });
  for (const dtype of dtypes) {
    const value = componentOn(subject.device(0), 0, {
      dtype,
      shape: dtype === 'bool' ? [] : [2, 2],
      flavour: 'special',
    });
    for (const [destinations, places] of [
      [subject.device(0), subject.devices(1)],
      [subject.device(2), subject.devices(1, 2)],
      [devices, devices],
      [target, devices],
      [subject.devices(2, 1), subject.devices(2, 1)],
    ] as const) {
      const unchanged = new Unchanged(value, target);
      const copies = await cross.broadcast(value, destinations);
      assertEverywhere(`a ${dtype} value for ${places}`, copies, places, like(value));
      assertSeparate(`a ${dtype} value for ${places}`, [
        value,
        ...(assertPlaced('copies', copies, places) as Tensor[]),
      ]);
      unchanged.assert('a broadcast');
    }
  }
  const bare = Float64Array.of(1, 2);
  assertTensor('a bare array', await cross.broadcast(bare, subject.device(0)), like(tensor(bare)), subject.device(0));
  const mirrored = new Mirrored(devices.map((device) => tensor(bare, { device })));
  assertEverywhere('a mirrored value', await cross.broadcast(mirrored as never, devices), devices, like(tensor(bare)));
}

async function broadcastsSparse(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const values = tensor(Float32Array.of(1, 2, 3, 4), { shape: [2, 2], device: subject.device(0) });
  for (const denseShape of [undefined, [5, 2]]) {
    const slices = new IndexedSlices(values, tensor(Int32Array.of(4, 0)), denseShape);
    for (const places of [subject.devices(1, 1), subject.devices(3)]) {
      for (const copy of assertPlaced('a sparse broadcast', await cross.broadcast(slices, places), places)) {
        assertSlices(`a copy on ${copy.device}`, copy, like(values), like(slices.indices));
        assert.deepEqual(
          (copy as IndexedSlices).denseShape,
          denseShape,
          'the dense shape is kept, or missing as before',
        );
      }
    }
  }
}

/** Joins the components along an axis, element by element. */
function joined(components: readonly Tensor[], axis: number): Tensor {
  const shapes = components.map(({ shape }) => shape);
  const along = shapes.map((shape) => shape[axis] as number);
  const shape = (shapes[0] as readonly number[]).with(
    axis,
    along.reduce((sum, count) => sum + count, 0),
  );
  const result = zeros((components[0] as Tensor).dtype, shape);
  for (let flat = 0; flat < result.data.length; flat++) {
    const place = placeOf(flat, shape);
    let component = 0;
    while ((place[axis] as number) >= (along[component] as number)) {
      place[axis] = (place[axis] as number) - (along[component] as number);
      component++;
    }
    const from = components[component] as Tensor;
    const at = place.reduce((index, step, dimension) => index * (from.shape[dimension] as number) + step, 0);
    result.data[flat] = from.data[at] as number;
  }
  return result;
}

function placeOf(flat: number, shape: readonly number[]): number[] {
  const place: number[] = [];
  let rest = flat;
  for (const dimension of shape.toReversed()) {
    place.unshift(rest % dimension);
    rest = Math.floor(rest / dimension);
  }
  return place;
}

async function gathers(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  for (const count of subject.replicas) {
    const value = valueOn(subject.devices(count), { shape: [2, 3, 2] });
    const unchanged = new Unchanged(value);
    for (const axis of [0, 1, 2]) {
      const title = `${count} components along axis ${axis}`;
      const result = await cross.gather(value, value, axis);
      assertEverywhere(title, result, value.devices, like(joined(value.values, axis)));
    }
    unchanged.assert('a gather');
  }
}

async function gathersEveryDType(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  for (const dtype of dtypes) {
    const value = valueOn(subject.devices(2), { dtype, shape: [3, 1], flavour: 'special' });
    const result = await cross.gather(value, value, 0);
    assertEverywhere(`${dtype} components`, result, value.devices, like(joined(value.values, 0)));
  }
}

async function gathersUnequal(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  for (const axis of [0, 1]) {
    const lengths = [2, 0, 5];
    const components = lengths.map((length, replica) =>
      componentOn(subject.device(replica), replica, { shape: axis === 0 ? [length, 2] : [2, length] }),
    );
    const value = new PerReplica(components);
    const result = await cross.gather(value, value, axis);
    assertEverywhere(`unequal components along axis ${axis}`, result, value.devices, like(joined(components, axis)));
  }
}

async function gathersToDestinations(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  const expected = like(joined(value.values, 0));
  for (const places of [subject.devices(1), subject.devices(1, 2), subject.devices(3), subject.devices(2, 1)]) {
    assertEverywhere(`a gather for ${places}`, await cross.gather(value, places, 0), places, expected);
  }
  const single = componentOn(subject.device(0), 0);
  const moved = await cross.gather(single, subject.device(1), 1);
  assertTensor('a single component, elsewhere', moved, like(single), subject.device(1));
}

async function gathersSingle(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = componentOn(subject.device(0), 0);
  for (const axis of [0, 7, -1, 0.5]) {
    const result = await cross.gather(value, subject.device(0), axis);
    assertTensor(`a single component, axis ${axis}`, result, like(value), subject.device(0));
    assertSeparate('a single component', [value, result as Tensor]);
  }
}

async function refusesAxes(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const value = valueOn(subject.devices(2));
  for (const axis of [2, -1, 0.5, Number.NaN]) {
    await assertRejects(`axis ${axis}`, cross.gather(value, value, axis), RangeError);
  }
  const scalars = valueOn(subject.devices(2), { shape: [] });
  await assertRejects('scalars', cross.gather(scalars, scalars, 0), ValueError);
}

async function refusesUnlike(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const [here, there] = subject.devices(2) as readonly [string, string];
  const pair = (shape: readonly number[], dtype: 'float32' | 'int32' = 'float32') =>
    new PerReplica([componentOn(here, 0, { shape: [2, 3] }), componentOn(there, 1, { shape, dtype })]);
  for (const shape of [[2, 4], [2, 3, 1], [6]]) {
    const { rank } = await assertRejects(`[${shape}]`, cross.gather(pair(shape), here, 0), InvalidArgumentError);
    assert.equal(rank, 1, 'error.rank is the replica that does not fit');
  }
  await assertRejects('unlike dtypes', cross.gather(pair([2, 3], 'int32'), here, 0), InternalError);
}

async function refusesSparse(subject: OpsSubject): Promise<void> {
  await using cross = await subject.create();
  const slices = new IndexedSlices(tensor([1], { shape: [1, 1], device: subject.device(0) }), tensor(Int32Array.of(0)));
  for (const value of [slices, new PerReplica([slices, slices]), new PerReplica([slices, componentOn('', 0)])]) {
    const wrong = cross.gather(value, 7 as never, -1, 7 as never);
    await assertRejects('gather of slices', wrong, NotImplementedError);
  }
}
