import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AddonPlaces, findAddon } from '@coll/core/internal';
import { type NcclBinding, ncclInterface } from './nccl-binding.js';

/** The loaded addon, or an error message if it cannot be loaded. */
export type BindingSearch = { readonly binding: NcclBinding } | { readonly failure: string };

/** Where to search for the addon. Default: the locations of this process; tests pass others. */
export interface Surroundings extends Pick<AddonPlaces, 'explicit' | 'built' | 'load'> {
  readonly platform: string;
  readonly architecture: string;
}

/** Searches for the addon as `findAddon` does. Never throws. */
export function findBinding(surroundings: Partial<Surroundings> = {}): BindingSearch {
  const { platform, architecture, ...places } = { ...here(), ...surroundings };
  if (platform !== 'linux') return { failure: `NCCL is available on Linux only, not on ${platform}` };
  const packageName = () => `@coll/nccl-linux-${architecture}-gnu`;
  const found = findAddon<NcclBinding>({ ...places, ...common, packageName }, ncclInterface);
  if ('addon' in found) return { binding: found.addon };
  return { failure: `the addon cannot be loaded from ${found.place}: ${found.failure}` };
}

const common = { variable: 'COLL_NCCL_PATH', exists: existsSync, resolve: path.resolve };

const here = (): Surroundings => ({
  explicit: process.env['COLL_NCCL_PATH'] || undefined,
  // Works from src and dist. Bundlers would treat `new URL('…', import.meta.url)` as a file that
  // always exists.
  built: path.join(path.dirname(fileURLToPath(import.meta.url)), '../build/release/coll_nccl.node'),
  platform: process.platform,
  architecture: process.arch,
  // Bundlers would replace an imported `createRequire`.
  load: process.getBuiltinModule('node:module').createRequire(import.meta.url),
});
