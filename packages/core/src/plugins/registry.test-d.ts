import {
  type CrossDeviceOps,
  createRegistry,
  definePlugin,
  type Plugin,
  type PluginRequest,
  type World,
} from '@coll/core';
import { type DirectOptions, direct } from '@coll/direct';
import { type ReductionToOneOptions, reductionToOne } from '@coll/reduction-to-one';
import { type RingOptions, ring } from '@coll/ring';
import { expectTypeOf } from 'vitest';

const registry = createRegistry();
declare const world: World;
declare const request: PluginRequest;
declare const name: string;

interface MineOptions {
  readonly depth: number;
}

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    mine: MineOptions;
  }
}

const mine = definePlugin({
  name: 'mine',
  module: import.meta.url,
  create: (_options: MineOptions | undefined): CrossDeviceOps => {
    throw new Error('only its type is looked at');
  },
});

// Options by name, as packages declare them.
expectTypeOf(registry.create('ring', { numPacks: 1, subChunks: 2 })).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create('direct', { numPacks: 0 }, world)).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create('reduction-to-one', { reduceToDevice: 'cpu:0' })).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create('mine', { depth: 3 })).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create('ring', undefined, world)).resolves.toEqualTypeOf<CrossDeviceOps>();

// @ts-expect-error an option of the wrong type
void registry.create('ring', { numPacks: 'one' });
// @ts-expect-error an unknown option
void registry.create('ring', { packs: 1 });
// @ts-expect-error an option of another plug-in
void registry.create('direct', { subChunks: 2 });
// @ts-expect-error a required option is missing
void registry.create('mine', {});

// Options of a plug-in that is passed as an object.
expectTypeOf(registry.create(ring, { numPacks: 1 })).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create(mine, { depth: 3 }, world)).resolves.toEqualTypeOf<CrossDeviceOps>();
// @ts-expect-error an option of the wrong type
void registry.create(ring, { numPacks: 'one' });
// @ts-expect-error an unknown option
void registry.create(mine, { depth: 3, width: 4 });

// Names without declared options, and the other forms of a request, are still allowed.
expectTypeOf(registry.create('other', { anything: 1 })).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create(name, { anything: 1 })).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create('auto', undefined, world)).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create({ name: 'ring', options: {} })).resolves.toEqualTypeOf<CrossDeviceOps>();
expectTypeOf(registry.create(request, undefined, world)).resolves.toEqualTypeOf<CrossDeviceOps>();
// @ts-expect-error a number is not a request
void registry.create(5);

// A plug-in declares the type of its options.
expectTypeOf(ring).toEqualTypeOf<Plugin<RingOptions>>();
expectTypeOf(direct).toEqualTypeOf<Plugin<DirectOptions>>();
expectTypeOf(reductionToOne).toEqualTypeOf<Plugin<ReductionToOneOptions>>();
expectTypeOf(mine).toEqualTypeOf<Plugin<MineOptions>>();
expectTypeOf(ring).toExtend<PluginRequest>();
registry.register(mine);
// @ts-expect-error a plug-in must have a module
definePlugin({ name: 'mine', create: () => undefined as never });
