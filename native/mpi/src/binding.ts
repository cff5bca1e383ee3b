import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AddonPlaces, findAddon } from '@coll/core/internal';
import { type MpiBinding, mpiInterface } from './mpi-binding.js';

/** The loaded addon, or an error message if it cannot be loaded. */
export type BindingSearch = { readonly binding: MpiBinding } | { readonly failure: string };

/** Where to search for the addon. Default: the locations of this process; tests pass others. */
export interface Surroundings extends Pick<AddonPlaces, 'explicit' | 'built' | 'load'> {
  readonly platform: string;
  readonly architecture: string;
}

/** Searches for the addon as `findAddon` does. Never throws. */
export function findBinding(surroundings: Partial<Surroundings> = {}): BindingSearch {
  const { platform, architecture, ...places } = { ...here(), ...surroundings };
  if (platform !== 'linux') return { failure: `@coll/mpi is available on Linux only, not on ${platform}` };
  const packageName = () => `@coll/mpi-linux-${architecture}-gnu`;
  const found = findAddon<MpiBinding>({ ...places, ...common, packageName }, mpiInterface);
  if ('addon' in found) return { binding: found.addon };
  return { failure: `the addon cannot be loaded from ${found.place}: ${found.failure}` };
}

const common = { variable: 'COLL_MPI_PATH', exists: existsSync, resolve: path.resolve };

const here = (): Surroundings => ({
  explicit: process.env['COLL_MPI_PATH'] || undefined,
  // Works from src and dist. Bundlers would treat `new URL('…', import.meta.url)` as a file that
  // always exists.
  built: path.join(path.dirname(fileURLToPath(import.meta.url)), '../build/release/coll_mpi.node'),
  platform: process.platform,
  architecture: process.arch,
  // Bundlers would replace an imported `createRequire`.
  load: process.getBuiltinModule('node:module').createRequire(import.meta.url),
});
