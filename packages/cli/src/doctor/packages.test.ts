import { expect, it } from 'vitest';
import type { InstalledPackage } from './installed-packages.js';
import { packagesLine } from './packages.js';

const installed = (name: string, version: string, above = '/p'): InstalledPackage => ({
  name: `@coll/${name}`,
  version,
  folder: `${above}/node_modules/@coll/${name}`,
});

type Manager = Parameters<typeof packagesLine>[0]['manager'];

function line(packages: readonly InstalledPackage[], manager: Manager = 'npm', own = '0.2.0', isPlugAndPlay = false) {
  return packagesLine({ packages, manager, isPlugAndPlay }, own, '/p');
}

it('packages of one version are ok', () => {
  const packages = [installed('core', '0.2.0'), installed('ring', '0.2.0')];
  expect(line(packages)).toEqual({
    name: 'packages',
    verdict: 'ok',
    text: '0.2.0 (2 packages)',
    data: { packages, manager: 'npm' },
  });
  expect(line(packages.slice(1)).text).toBe('0.2.0 (@coll/ring)');
});

it('a folder without packages is a fact', () => {
  expect(line([])).toMatchObject({ text: 'no @coll packages in this folder or above' });
  expect(line([], 'yarn', '0.2.0', true).text).toBe('not examined: Yarn keeps them in archives');
  expect(line([]).verdict).toBeUndefined();
});

it.each([
  ['npm', 'npm install'],
  ['pnpm', 'pnpm add'],
  ['yarn', 'yarn add'],
  ['bun', 'bun add'],
] as const)('different versions are broken, with the command of %s', (manager, add) => {
  const packages = [installed('core', '0.2.0'), installed('ring', '0.10.0'), installed('direct', '0.9.0')];
  expect(line(packages, manager)).toMatchObject({
    verdict: 'broken',
    text: 'different versions: 0.2.0 of @coll/core; 0.9.0 of @coll/direct; 0.10.0 of @coll/ring',
    cure: `${add} @coll/core@0.10.0 @coll/direct@0.10.0`,
  });
});

it('a release is newer than its prereleases', () => {
  const packages = [installed('core', '1.0.0'), installed('ring', '1.0.0-beta.2')];
  expect(line(packages)).toMatchObject({ cure: 'npm install @coll/ring@1.0.0' });
});

it('lists only some names of many packages', () => {
  const old = ['a', 'b', 'c', 'd', 'e'].map((name) => installed(name, '0.1.0'));
  expect(line([...old, installed('core', '0.2.0')]).text).toBe(
    'different versions: 0.1.0 of @coll/a, @coll/b, @coll/c and 2 more; 0.2.0 of @coll/core',
  );
});

it('an older copy below another package has another cure', () => {
  const packages = [installed('core', '0.2.0'), installed('core', '0.1.0', '/p/node_modules/model')];
  expect(line(packages)).toMatchObject({
    verdict: 'broken',
    cure: 'update the package that needs @coll/core 0.1.0 (npm ls @coll/core shows it)',
  });
});

it.each([
  ['npm', 'npm dedupe'],
  ['pnpm', 'pnpm dedupe'],
  ['yarn', 'yarn dedupe'],
  ['bun', 'delete node_modules and bun.lock, then bun install'],
] as const)('two copies of @coll/core are broken, with the command of %s', (manager, cure) => {
  const packages = [installed('core', '0.2.0'), installed('core', '0.2.0', '/p/node_modules/model')];
  expect(line(packages, manager)).toMatchObject({
    verdict: 'broken',
    text: '2 copies of @coll/core: node_modules/@coll/core, node_modules/model/node_modules/@coll/core',
    cure,
  });
});

it('another version of this command is broken', () => {
  expect(line([installed('core', '0.1.0')])).toMatchObject({
    verdict: 'broken',
    text: '0.1.0, but this command is 0.2.0',
    cure: 'npm install @coll/cli@0.1.0',
  });
});
