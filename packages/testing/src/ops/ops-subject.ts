import assert from 'node:assert/strict';
import type { CrossDeviceOps, PackingOptions, Plugin, World } from '@coll/core';

/** Makes the ops under test, with these packing options beside their own; for a world where one is given. */
export type CreateOps = (packing: PackingOptions, world?: World) => CrossDeviceOps | Promise<CrossDeviceOps>;

export interface OpsSubjectOptions {
  readonly create: CreateOps;
  readonly plugin: Plugin<never> | undefined;
  readonly devices: readonly string[];
  readonly replicas: readonly number[];
  readonly bitsIndependentOfPacking: boolean;
}

/** What the cases of a cross-device ops suite look at. */
export class OpsSubject {
  readonly plugin: Plugin<never> | undefined;
  /** How many components values have. */
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

  /** Ops of the case's own. */
  async create(packing: PackingOptions = {}, world?: World): Promise<CrossDeviceOps> {
    return this.#create(packing, world);
  }

  /** The devices of so many replicas, or from `first` on. */
  devices(count: number, first = 0): readonly string[] {
    return this.#devices.slice(first, first + count);
  }

  device(index: number): string {
    return this.#devices[index] as string;
  }

  /** The largest number of replicas. */
  get most(): number {
    return Math.max(...this.replicas);
  }
}

/** A property of cross-device ops. Fails by throwing. */
export type OpsCase = (subject: OpsSubject) => Promise<void>;

/** Cases by the name of their test. */
export type OpsCases = Readonly<Record<string, OpsCase>>;
