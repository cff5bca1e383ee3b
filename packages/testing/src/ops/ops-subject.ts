import assert from 'node:assert/strict';
import type { CrossDeviceOps, PackingOptions, Plugin, World } from '@coll/core';

/**
 * Creates the ops under test with these packing options. If a world is given, the ops are for its
 * replicas.
 */
export type CreateOps = (packing: PackingOptions, world?: World) => CrossDeviceOps | Promise<CrossDeviceOps>;

export interface OpsSubjectOptions {
  readonly create: CreateOps;
  readonly plugin: Plugin<never> | undefined;
  readonly devices: readonly string[];
  readonly replicas: readonly number[];
  readonly bitsIndependentOfPacking: boolean;
}

/**
 * The subject of the cases of a cross-device ops suite: the ops, the plug-in if any, and the
 * devices.
 */
export class OpsSubject {
  readonly plugin: Plugin<never> | undefined;
  /**
   * How many components (one per replica) the tested values have. Each test runs with each of these
   * numbers.
   */
  readonly replicas: readonly number[];
  readonly bitsIndependentOfPacking: boolean;
  readonly #create: CreateOps;
  readonly #devices: readonly string[];

  constructor({ create, plugin, devices, replicas, bitsIndependentOfPacking }: OpsSubjectOptions) {
    const most = Math.max(...replicas);
    assert.ok(devices.length >= most, `${most} replicas need as many devices, not ${devices.length}`);
    this.plugin = plugin;
    this.replicas = replicas;
    this.bitsIndependentOfPacking = bitsIndependentOfPacking;
    this.#create = create;
    this.#devices = devices;
  }

  /** Creates ops for a single case. */
  async create(packing: PackingOptions = {}, world?: World): Promise<CrossDeviceOps> {
    return this.#create(packing, world);
  }

  /** The devices of `count` replicas, from replica `first` on. */
  devices(count: number, first = 0): readonly string[] {
    return this.#devices.slice(first, first + count);
  }

  device(index: number): string {
    return this.#devices[index] as string;
  }

  /** The largest number of components that a tested value has. */
  get most(): number {
    return Math.max(...this.replicas);
  }
}

/** A test of one property of cross-device ops. Throws if the ops do not have the property. */
export type OpsCase = (subject: OpsSubject) => Promise<void>;

/** Cases by the name of their test. */
export type OpsCases = Readonly<Record<string, OpsCase>>;
