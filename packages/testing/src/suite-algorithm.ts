import type { Communicator, CrossDeviceOps, World } from '@coll/core';
import type { Algorithm } from '@coll/core/schedule';

/** An algorithm for a suite to run with, and where ranks that live elsewhere load the same one from. */
export interface SuiteAlgorithm {
  readonly algorithm: Algorithm;
  /** Needed where ranks have threads or processes of their own. */
  readonly source?: ModuleExport;
}

/** What a module exports: an algorithm, a function that makes one of the options, or a plug-in that plays one. */
export interface ModuleExport {
  /** The module's address, such as a plug-in's `module` or an `import.meta.url`. */
  readonly module: string;
  readonly export: string;
  /** For the maker or the plug-in; they are posted to other threads. */
  readonly options?: unknown;
}

/** The algorithm behind a module's export, loaded into this thread. */
export async function loadAlgorithm({ module, export: name, options }: ModuleExport, size: number): Promise<Algorithm> {
  const exported: unknown = ((await import(module)) as Record<string, unknown>)[name];
  if (typeof exported === 'function') return exported(options) as Algorithm;
  const parts = Object(exported) as Partial<Algorithm> & { create?: CreateOps };
  if (typeof parts.plan === 'function') return exported as Algorithm;
  if (typeof parts.create === 'function') return algorithmOfPlugin(parts.create, options, size);
  throw new Error(`${module} exports no algorithm and no plug-in called ${name}`);
}

type CreateOps = (options: unknown, world: World) => CrossDeviceOps | Promise<CrossDeviceOps>;

/** A world tells which algorithm ops ask it to play. */
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

/** For the names of tests: the algorithm's, with the options that make it another one. */
export function titleOf(algorithm: SuiteAlgorithm | undefined): string {
  if (!algorithm) return 'its own algorithm';
  const options = algorithm.source?.options;
  return options === undefined ? algorithm.algorithm.name : `${algorithm.algorithm.name} ${JSON.stringify(options)}`;
}
