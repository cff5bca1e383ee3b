import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type NativeBinding, nativeInterface } from './native-binding.js';

/** One place where the binary was looked for, and why it is not taken from there. */
export interface Attempt {
  readonly place: string;
  readonly failure: string;
}

/** The loaded binary and where it came from, or everything that was tried. */
export type BindingSearch =
  | { readonly binding: NativeBinding; readonly place: string }
  | { readonly attempts: readonly Attempt[] };

/** Where to look: what this process says of itself, unless a test says otherwise. */
export interface Surroundings {
  /** An explicit choice; nothing else is tried. */
  readonly explicit: string | undefined;
  /** The binary that `npm run build` makes in a checkout. */
  readonly built: string;
  /** The package with the binary for this platform; asking for it takes milliseconds. */
  readonly packageName: () => string;
  readonly load: (nameOrPath: string) => unknown;
}

/**
 * Looks for the binary at `COLL_NATIVE_PATH`, in a checkout's build folder and in the package for this platform. The first
 * that is there counts: if it cannot be loaded, no other takes its place. Never throws.
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

/** The search in one line, for people. */
export function describeAttempts(attempts: readonly Attempt[]): string {
  return attempts.map(({ place, failure }) => `${place} (${failure})`).join(', ');
}

/** What the package with the binary for a platform is called. */
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
  // From src as from dist.
  // As `new URL('…', import.meta.url)` bundlers would take it for a file that is always there.
  built: path.join(path.dirname(fileURLToPath(import.meta.url)), '../build/release/coll_native.node'),
  packageName: platformPackage,
  load: createRequire(import.meta.url),
});

function loaded(place: string, nameOrPath: string, load: Surroundings['load']): BindingSearch {
  try {
    const binding = load(nameOrPath) as NativeBinding;
    if (binding.interface === nativeInterface) return { binding, place };
    const failure = `its interface is ${binding.interface}, not ${nativeInterface}: install the same versions, or build anew`;
    return { attempts: [{ place, failure }] };
  } catch (error) {
    return { attempts: [{ place, failure: reasonOf(error, nameOrPath) }] };
  }
}

function reasonOf(error: unknown, nameOrPath: string): string {
  const { code, message } = error as Partial<NodeJS.ErrnoException>;
  // Only about the module itself: one that is there and misses another says so in its own words.
  const isMissing = code === 'MODULE_NOT_FOUND' && message?.includes(`'${nameOrPath}'`);
  if (isMissing) return nameOrPath.startsWith('@') ? `not installed: npm install ${nameOrPath}` : 'no such file';
  return (message ?? String(error)).split('\n', 1)[0] as string;
}

/** Node's report names the version of glibc where the process runs on it. */
function runsOnMusl(): boolean {
  // Newer than Node's types. Without it the report looks up the names of open connections, which can take seconds.
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  const before = report.excludeNetwork ?? false;
  report.excludeNetwork = true;
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  report.excludeNetwork = before;
  return header.glibcVersionRuntime === undefined;
}
