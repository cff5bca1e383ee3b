import type { Communicator, CrossDeviceOps, World } from '@coll/core';
import type { Algorithm } from '@coll/core/schedule';

/** An algorithm to test, and the module from which other threads and processes load it. */
export interface SuiteAlgorithm {
  readonly algorithm: Algorithm;
  /**
   * The module from which other threads and processes load the algorithm. Required if ranks live
   * there.
   */
  readonly source?: ModuleExport;
}

/**
 * An export of a module: an algorithm, a function that creates one from options, or a plug-in whose
 * algorithm is used.
 */
export interface ModuleExport {
  /** The URL of the module, such as a plug-in's `module` or an `import.meta.url`. */
  readonly module: string;
  readonly export: string;
  /** The options of the function or the plug-in; must be plain data that can be posted. */
  readonly options?: unknown;
}

/**
 * Loads the algorithm of a module's export into this thread.
 * @throws Error if the export is neither an algorithm, a function nor a plug-in
 */
export async function loadAlgorithm({ module, export: name, options }: ModuleExport, size: number): Promise<Algorithm> {
  const exported: unknown = ((await import(module)) as Record<string, unknown>)[name];
  if (typeof exported === 'function') return exported(options) as Algorithm;
  const parts = Object(exported) as Partial<Algorithm> & { create?: CreateOps };
  if (typeof parts.plan === 'function') return exported as Algorithm;
  if (typeof parts.create === 'function') return algorithmOfPlugin(parts.create, options, size);
  throw new Error(`${module} exports no algorithm and no plug-in called ${name}`);
}

type CreateOps = (options: unknown, world: World) => CrossDeviceOps | Promise<CrossDeviceOps>;

/**
 * Finds the algorithm of a plug-in: creates its ops for a world that records which algorithm they
 * request.
 */
async function algorithmOfPlugin(create: CreateOps, options: unknown, size: number): Promise<Algorithm> {
  let asked: Algorithm | undefined;
  const communicator = (algorithm: Algorithm) => {
    asked = algorithm;
    return { size, localRanks: [0], close: async () => {} } as unknown as Communicator;
  };
  const devices = Array.from({ length: size }, (_, rank) => `cpu:${rank}`);
  await create(options, { devices, localRanks: [0], engine: 'none', communicator });
  if (asked) return asked;
  throw new Error('the plug-in requests no communicator of its world, so that its algorithm is unknown');
}

/** The name of the algorithm, with its options if it has any, for test names. */
export function titleOf(algorithm: SuiteAlgorithm | undefined): string {
  if (!algorithm) return 'its own algorithm';
  const options = algorithm.source?.options;
  return options === undefined ? algorithm.algorithm.name : `${algorithm.algorithm.name} ${JSON.stringify(options)}`;
}
