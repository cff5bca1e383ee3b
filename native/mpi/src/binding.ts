import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type MpiBinding, mpiInterface } from './mpi-binding.js';

/** The loaded addon, or an error message if it cannot be loaded. */
export type BindingSearch = { readonly binding: MpiBinding } | { readonly failure: string };

/** Where to search for the addon. Default: the locations of this process; tests pass others. */
export interface Surroundings {
  /** The value of `COLL_MPI_PATH`; if it is set, no other location is tried. */
  readonly explicit: string | undefined;
  /** The addon that `npm run build` makes in a checkout. */
  readonly built: string;
  readonly platform: string;
  readonly architecture: string;
  readonly load: (nameOrPath: string) => unknown;
}

/**
 * Searches for the addon at `COLL_MPI_PATH`, in a checkout's build folder and in the package for
 * this platform. Only the first of these that exists is tried. Never throws.
 */
export function findBinding(surroundings: Partial<Surroundings> = {}): BindingSearch {
  const { explicit, built, platform, architecture, load } = { ...here(), ...surroundings };
  if (platform !== 'linux') return { failure: `@coll/mpi is available on Linux only, not on ${platform}` };
  if (explicit !== undefined) return loaded(`COLL_MPI_PATH=${explicit}`, path.resolve(explicit), load);
  if (existsSync(built)) return loaded(built, built, load);
  const name = `@coll/mpi-linux-${architecture}-gnu`;
  return loaded(name, name, load);
}

const here = (): Surroundings => ({
  explicit: process.env['COLL_MPI_PATH'] || undefined,
  // Works from src and dist. Bundlers would treat `new URL('…', import.meta.url)` as a file that
  // always exists.
  built: path.join(path.dirname(fileURLToPath(import.meta.url)), '../build/release/coll_mpi.node'),
  platform: process.platform,
  architecture: process.arch,
  load: createRequire(import.meta.url),
});

function loaded(place: string, nameOrPath: string, load: Surroundings['load']): BindingSearch {
  try {
    const binding = load(nameOrPath) as MpiBinding;
    if (binding.interface === mpiInterface) return { binding };
    const told = `the interface version of ${place} is ${binding.interface}, expected ${mpiInterface}`;
    return { failure: `${told}: install the same versions of both packages, or rebuild the addon` };
  } catch (error) {
    return { failure: `the addon cannot be loaded from ${place}: ${reasonOf(error, nameOrPath)}` };
  }
}

function reasonOf(error: unknown, nameOrPath: string): string {
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  const isMissing = code === 'MODULE_NOT_FOUND' && message?.includes(`'${nameOrPath}'`);
  if (!isMissing) return (message ?? String(error)).split('\n', 1)[0] as string;
  return nameOrPath.startsWith('@') ? `not installed: npm install ${nameOrPath}` : 'no such file';
}
