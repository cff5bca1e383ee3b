import type { CrossDeviceOps, PackingOptions, Plugin, World } from '@coll/core';
import { knownOptions, requireKnownOptions } from '@coll/core/internal';
import type { DeclareGroup } from './algorithm-suite.js';
import type { DeclareTest } from './declare-test.js';
import { argumentCases } from './ops/argument-cases.js';
import { batchCases } from './ops/batch-cases.js';
import { moveCases } from './ops/move-cases.js';
import { type CreateOps, OpsSubject } from './ops/ops-subject.js';
import { optionCases } from './ops/option-cases.js';
import { packingCases } from './ops/packing-cases.js';
import { objectCases, pluginCases } from './ops/plugin-cases.js';
import { reduceCases } from './ops/reduce-cases.js';
import { replicaCases } from './ops/replica-cases.js';
import { replicaWaitingCases } from './ops/replica-waiting-cases.js';
import { sparseCases } from './ops/sparse-cases.js';
import { sparseEdgeCases } from './ops/sparse-edge-cases.js';
import { sparseReplicaCases } from './ops/sparse-replica-cases.js';

interface CommonOptions {
  readonly test: DeclareTest;
  /**
   * The function of the test framework that declares a group of tests, such as `describe` of
   * vitest. Default: tests are declared without a group.
   */
  readonly describe?: DeclareGroup;
  /** The devices of the values, at least 3. Default: `cpu:0` to `cpu:3`. */
  readonly devices?: readonly string[];
  /**
   * The numbers of components (one per replica) of the tested values. Each test runs once with each
   * number. No number may exceed the number of devices. Default: 1 to 4.
   */
  readonly replicas?: readonly number[];
  /**
   * Whether the results of the ops have identical bits, however values are packed. Default: false;
   * results need only be close.
   */
  readonly bitsIndependentOfPacking?: boolean;
}

/** The cross-device ops under test and the test framework. */
export interface OpsSuiteOptions extends CommonOptions {
  /** The name of the ops; test names begin with it. */
  readonly name: string;
  /**
   * Creates the ops under test with these packing options. If a world is given, the ops are for its
   * replicas.
   */
  readonly create: CreateOps;
}

/** The plug-in under test and the test framework. */
export interface PluginSuiteOptions<Options> extends CommonOptions {
  /** The plug-in under test. */
  readonly plugin: Plugin<Options>;
  /** The options with which the plug-in creates its ops. The suite adds packing options. */
  readonly options?: Options;
  /** Whether the plug-in accepts the fields of `PackingOptions`. Default: true. */
  readonly takesPacking?: boolean;
}

const suiteOptions = knownOptions<OpsSuiteOptions & PluginSuiteOptions<unknown>>('crossDeviceOpsSuite', {
  test: true,
  describe: true,
  devices: true,
  replicas: true,
  bitsIndependentOfPacking: true,
  name: true,
  create: true,
  plugin: true,
  options: true,
  takesPacking: true,
});

/**
 * Declares the tests that all cross-device ops must pass and, for a plug-in, those that all
 * plug-ins must pass.
 * @throws ValueError for an unknown option
 *
 * @example
 * ```ts
 * import { test } from 'node:test';
 * import { reductionToOne } from '@coll/reduction-to-one';
 * import { crossDeviceOpsSuite } from '@coll/testing';
 *
 * crossDeviceOpsSuite({ test, plugin: reductionToOne, replicas: [2], takesPacking: false });
 * ```
 */
export function crossDeviceOpsSuite<Options>(options: OpsSuiteOptions | PluginSuiteOptions<Options>): void {
  requireKnownOptions(options, suiteOptions);
  const { test, describe, devices = usualDevices, replicas = [1, 2, 3, 4], bitsIndependentOfPacking = false } = options;
  const plugin = 'plugin' in options ? (options.plugin as unknown as Plugin<never>) : undefined;
  const create = 'plugin' in options ? creatorOf(options) : options.create;
  const name = 'plugin' in options ? options.plugin.name : options.name;
  const cases = { ...opsCases, ...(plugin ? pluginCases : {}) };
  const declare = () => {
    const subject = new OpsSubject({ create, plugin, devices, replicas, bitsIndependentOfPacking });
    for (const [title, run] of Object.entries(cases)) test(`${name} ${title}`, () => run(subject));
  };
  if (describe) describe(`cross-device ops ${name}`, declare);
  else declare();
}

const usualDevices: readonly string[] = ['cpu:0', 'cpu:1', 'cpu:2', 'cpu:3'];

const opsCases = {
  ...argumentCases,
  ...optionCases,
  ...reduceCases,
  ...batchCases,
  ...sparseCases,
  ...sparseEdgeCases,
  ...moveCases,
  ...packingCases,
  ...replicaCases,
  ...replicaWaitingCases,
  ...sparseReplicaCases,
  ...objectCases,
};

function creatorOf<Options>({ plugin, options, takesPacking = true }: PluginSuiteOptions<Options>): CreateOps {
  return (packing: PackingOptions, world?: World): CrossDeviceOps | Promise<CrossDeviceOps> =>
    plugin.create(takesPacking ? ({ ...options, ...packing } as Options) : options, world);
}
