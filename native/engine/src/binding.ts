import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AddonPlaces, findAddon } from '@coll/core/internal';
import { type NativeBinding, nativeInterface } from './native-binding.js';

/** A location searched for the binary, and why no binary was loaded from there. */
export interface Attempt {
  readonly place: string;
  readonly failure: string;
  /** Whether there is no binary; otherwise it could not be loaded. */
  readonly isMissing: boolean;
}

/** The loaded binary and its origin, or the failed attempts. */
export type BindingSearch =
  | { readonly binding: NativeBinding; readonly place: string }
  | { readonly attempts: readonly Attempt[] };

/**
 * Where to search for the native binary. Default: the locations of this process; tests pass others.
 */
export type Surroundings = Pick<AddonPlaces, 'explicit' | 'built' | 'packageName' | 'load'>;

/**
 * Searches for the binary at `COLL_NATIVE_PATH`, in a checkout's build folder and in the package
 * for this platform. Only the first binary that exists is tried. Never throws.
 */
export function findBinding(surroundings: Partial<Surroundings> = {}): BindingSearch {
  const places = { ...here(), ...surroundings };
  const found = findAddon<NativeBinding>({ ...places, ...common }, nativeInterface);
  const { place } = found;
  if ('addon' in found) return { binding: found.addon, place };
  const { failure, isMissing } = found;
  const attempts = [{ place, failure, isMissing }];
  const { explicit, built } = places;
  if (explicit !== undefined || place === built) return { attempts };
  return {
    attempts: [{ place: built, failure: 'not built: npm run build in a checkout', isMissing: true }, ...attempts],
  };
}

/**
 * What to do about a failed search; undefined on a platform for which no binary is published.
 */
export function adviceFor(attempts: readonly Attempt[]): string | undefined {
  const { place = '', failure = '', isMissing } = attempts.at(-1) ?? {};
  const flag = permissions.find(({ refusal }) => refusal.test(failure))?.flag;
  if (flag !== undefined) return `start the program with ${flag}`;
  if (place.startsWith(common.variable)) return `unset ${common.variable}, or set it to a binary that can be loaded`;
  if (!place.startsWith('@coll/')) return 'npm run build in the checkout';
  if (!published.some((platform) => place === `@coll/native-${platform}`)) return undefined;
  // For example, copied from a system with another C library, or only in part.
  return isMissing ? `npm install ${place}` : 'delete node_modules and run npm install on this system';
}

/** The flags without which a permission model refuses to load a binary, and its words for that. */
const permissions = [
  { refusal: /addons is disabled/, flag: '--allow-addons' },
  { refusal: /Requires ffi access/, flag: '--allow-ffi' },
];

/** The platforms for which a package with the binary is published. */
export const published = [
  'linux-x64-gnu',
  'linux-arm64-gnu',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-arm64',
  'darwin-x64',
  'win32-x64',
];

/** Describes the failed search in one line, for error messages. */
export function describeAttempts(attempts: readonly Attempt[]): string {
  return attempts.map(({ place, failure }) => `${place} (${failure})`).join(', ');
}

/** The name of the package with the binary for a platform. */
export function platformPackage(
  platform: string = process.platform,
  architecture: string = process.arch,
  isMusl: boolean = platform === 'linux' && runsOnMusl(),
): string {
  const libc = platform === 'linux' ? `-${isMusl ? 'musl' : 'gnu'}` : '';
  return `@coll/native-${platform}-${architecture}${libc}`;
}

const common = { variable: 'COLL_NATIVE_PATH', exists: existsSync, resolve: path.resolve };

const here = (): Surroundings => ({
  explicit: process.env['COLL_NATIVE_PATH'] || undefined,
  // Works from src and dist. Bundlers would treat `new URL('…', import.meta.url)` as a file that
  // always exists.
  built: path.join(path.dirname(fileURLToPath(import.meta.url)), '../build/release/coll_native.node'),
  packageName: platformPackage,
  // Bundlers would replace an imported `createRequire`.
  load: process.getBuiltinModule('node:module').createRequire(import.meta.url),
});

/** Whether this process uses the C library musl: then Node.js's report has no version of glibc. */
function runsOnMusl(): boolean {
  // Newer than Node.js's types. Without it, the report resolves the names of open connections,
  // which can take seconds.
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  const before = report.excludeNetwork ?? false;
  report.excludeNetwork = true;
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  report.excludeNetwork = before;
  return header.glibcVersionRuntime === undefined;
}
