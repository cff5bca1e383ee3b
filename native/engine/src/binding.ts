import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type NativeBinding, nativeInterface } from './native-binding.js';

/** A location searched for the binary, and why no binary was loaded from there. */
export interface Attempt {
  readonly place: string;
  readonly failure: string;
}

/** The loaded binary and its origin, or the failed attempts. */
export type BindingSearch =
  | { readonly binding: NativeBinding; readonly place: string }
  | { readonly attempts: readonly Attempt[] };

/**
 * Where to search for the native binary. Default: the locations of this process; tests pass others.
 */
export interface Surroundings {
  /** Path of the binary as set by the user; if it is set, no other location is searched. */
  readonly explicit: string | undefined;
  /** The binary that `npm run build` makes in a checkout. */
  readonly built: string;
  /**
   * Name of the package with the binary for this platform. A function, because finding it takes
   * milliseconds.
   */
  readonly packageName: () => string;
  readonly load: (nameOrPath: string) => unknown;
}

/**
 * Searches for the binary at `COLL_NATIVE_PATH`, in a checkout's build folder and in the package
 * for this platform. Only the first binary that exists is tried. Never throws.
 */
export function findBinding(surroundings: Partial<Surroundings> = {}): BindingSearch {
  const { explicit, built, packageName, load } = { ...here(), ...surroundings };
  if (explicit !== undefined) return loaded(`COLL_NATIVE_PATH=${explicit}`, path.resolve(explicit), load);
  if (existsSync(built)) return loaded(built, built, load);
  const name = packageName();
  const search = loaded(name, name, load);
  if ('binding' in search) return search;
  return { attempts: [{ place: built, failure: 'not built: npm run build in a checkout' }, ...search.attempts] };
}

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

const here = (): Surroundings => ({
  explicit: process.env['COLL_NATIVE_PATH'] || undefined,
  // Works from src and dist. Bundlers would treat `new URL('…', import.meta.url)` as a file that
  // always exists.
  built: path.join(path.dirname(fileURLToPath(import.meta.url)), '../build/release/coll_native.node'),
  packageName: platformPackage,
  load: createRequire(import.meta.url),
});

function loaded(place: string, nameOrPath: string, load: Surroundings['load']): BindingSearch {
  try {
    const binding = load(nameOrPath) as NativeBinding;
    if (binding.interface === nativeInterface) return { binding, place };
    const failure = `its interface version is ${binding.interface}, expected ${nativeInterface}: install the same versions of both packages, or rebuild the binary`;
    return { attempts: [{ place, failure }] };
  } catch (error) {
    return { attempts: [{ place, failure: reasonOf(error, nameOrPath) }] };
  }
}

function reasonOf(error: unknown, nameOrPath: string): string {
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  // Only if the module itself is missing: one that exists but lacks a dependency reports its own
  // error.
  const isMissing = code === 'MODULE_NOT_FOUND' && message?.includes(`'${nameOrPath}'`);
  if (isMissing) return nameOrPath.startsWith('@') ? `not installed: npm install ${nameOrPath}` : 'no such file';
  return (message ?? String(error)).split('\n', 1)[0] as string;
}

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
