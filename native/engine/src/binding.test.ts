import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { adviceFor, describeAttempts, findBinding, platformPackage, published } from './binding.js';
import { nativeInterface } from './native-binding.js';

const binding = { interface: nativeInterface, simd: 'none' };
const packageName = () => '@coll/native-nowhere';

/** Node's require for things that are not there, and the binding for those named. */
function loading(...present: readonly string[]) {
  const load = createRequire(import.meta.url);
  return (name: string) => (present.includes(name) ? binding : load(name));
}

let folder: string;
let built: string;
const missing = path.join(tmpdir(), 'coll-not-there.node');

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-binding-'));
  built = path.join(folder, 'built.node');
  writeFileSync(built, 'not a library');
});
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

describe('findBinding', () => {
  it('prefers an explicit path over everything else', () => {
    const search = findBinding({
      explicit: '/explicit.node',
      built,
      packageName,
      load: loading('/explicit.node', built),
    });
    expect(search).toEqual({ binding, place: 'COLL_NATIVE_PATH=/explicit.node' });
  });

  it('refuses a binary with another interface version', () => {
    const search = findBinding({ explicit: '/old.node', built, packageName, load: () => ({ interface: 0 }) });
    expect(search).toMatchObject({
      attempts: [{ failure: expect.stringContaining(`its interface version is 0, expected ${nativeInterface}`) }],
    });
  });

  it('tries nothing else if an explicit path fails', () => {
    const search = findBinding({ explicit: missing, built, packageName, load: loading(built, packageName()) });
    expect(search).toEqual({
      attempts: [{ place: `COLL_NATIVE_PATH=${missing}`, failure: 'no such file', isMissing: true }],
    });
  });

  it('resolves a relative path from the working directory', () => {
    const load = loading(path.resolve('here.node'));
    expect(findBinding({ explicit: 'here.node', load })).toEqual({ binding, place: 'COLL_NATIVE_PATH=here.node' });
  });

  it('reads COLL_NATIVE_PATH, and treats an empty value as unset', () => {
    vi.stubEnv('COLL_NATIVE_PATH', missing);
    expect(findBinding()).toEqual({
      attempts: [{ place: `COLL_NATIVE_PATH=${missing}`, failure: 'no such file', isMissing: true }],
    });
    vi.stubEnv('COLL_NATIVE_PATH', '');
    expect(findBinding({ built, load: loading(built) })).toEqual({ binding, place: built });
  });

  it('prefers the binary of a checkout over that of a package', () => {
    const search = findBinding({ explicit: undefined, built, packageName, load: loading(built, packageName()) });
    expect(search).toEqual({ binding, place: built });
  });

  it('does not replace a broken binary of a checkout by another one', () => {
    const search = findBinding({ explicit: undefined, built, packageName, load: loading(packageName()) });
    expect(search).toEqual({
      attempts: [{ place: built, failure: expect.stringMatching(/built\.node: .+/), isMissing: false }],
    });
  });

  it('uses the package for the platform if there is no checkout', () => {
    const search = findBinding({ explicit: undefined, built: missing, packageName, load: loading(packageName()) });
    expect(search).toEqual({ binding, place: packageName() });
  });

  it('reports every tried place and reason if there is no binary', () => {
    const search = findBinding({ explicit: undefined, built: missing, packageName, load: loading() });
    if ('binding' in search) throw new Error(`found ${search.place}`);
    expect(describeAttempts(search.attempts)).toBe(
      `${missing} (not built: npm run build in a checkout), ` +
        '@coll/native-nowhere (not installed: npm install @coll/native-nowhere)',
    );
  });
});

describe('adviceFor', () => {
  const failure = 'it is broken';

  it.each([
    ['@coll/native-linux-x64-gnu', true, 'npm install @coll/native-linux-x64-gnu'],
    ['@coll/native-linux-x64-gnu', false, 'delete node_modules and run npm install on this system'],
    ['@coll/native-freebsd-x64', true, undefined],
    ['COLL_NATIVE_PATH=/x.node', false, 'unset COLL_NATIVE_PATH, or set it to a binary that can be loaded'],
    ['/checkout/build/release/coll_native.node', false, 'npm run build in the checkout'],
  ])('returns what to do about %s (missing: %s)', (place, isMissing, advice) => {
    expect(adviceFor([{ place, failure, isMissing }])).toBe(advice);
  });

  it.each([
    ['Cannot load native addon because loading addons is disabled.', '--allow-addons'],
    ['Requires ffi access to "/x.node", run again with the --allow-ffi flag', '--allow-ffi'],
  ])('names the flag without which a runtime refuses to load binaries: %s', (failure, flag) => {
    const place = '@coll/native-linux-x64-gnu';
    expect(adviceFor([{ place, failure, isMissing: false }])).toBe(`start the program with ${flag}`);
  });

  it('knows the platforms that are packed', async () => {
    const file = path.join(import.meta.dirname, '../tools/platforms.mjs');
    const { platforms } = (await import(file)) as { readonly platforms: object };
    expect(published).toEqual(Object.keys(platforms));
  });
});

describe('platformPackage', () => {
  it.each([
    ['linux', 'x64', false, '@coll/native-linux-x64-gnu'],
    ['linux', 'arm64', true, '@coll/native-linux-arm64-musl'],
    ['darwin', 'arm64', false, '@coll/native-darwin-arm64'],
    ['win32', 'x64', false, '@coll/native-win32-x64'],
  ])('returns the package name for %s %s', (platform, architecture, isMusl, name) => {
    expect(platformPackage(platform, architecture, isMusl)).toBe(name);
  });

  it('detects the C library of this process', () => {
    expect(platformPackage('linux', 'x64')).toMatch(/^@coll\/native-linux-x64-(gnu|musl)$/);
  });
});
