import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { findInstalled } from './installed-packages.js';

const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'coll-installed-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folder = root;
beforeEach(() => {
  folder = mkdtempSync(path.join(root, 'project-'));
});

function install(place: string, manifest: object | string): void {
  const target = path.join(folder, place);
  mkdirSync(target, { recursive: true });
  const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
  writeFileSync(path.join(target, 'package.json'), text);
}

function link(from: string, to: string): void {
  mkdirSync(path.dirname(path.join(folder, from)), { recursive: true });
  symlinkSync(path.join(folder, to), path.join(folder, from));
}

const found = (below = '') =>
  findInstalled(path.join(folder, below)).packages.map(
    ({ name, version, folder: place }) => `${name} ${version} ${path.relative(folder, place)}`,
  );

it('finds packages in node_modules, below other packages and above the folder', () => {
  install('node_modules/@coll/core', { version: '0.2.0' });
  install('node_modules/model/node_modules/@coll/core', { version: '0.1.0' });
  install('node_modules/@scope/model/node_modules/@coll/ring', { version: '0.1.0' });
  install('node_modules/other', { version: '9.9.9' });
  mkdirSync(path.join(folder, 'src/deep'), { recursive: true });
  expect(found('src/deep')).toEqual([
    '@coll/core 0.2.0 node_modules/@coll/core',
    '@coll/core 0.1.0 node_modules/model/node_modules/@coll/core',
    '@coll/ring 0.1.0 node_modules/@scope/model/node_modules/@coll/ring',
  ]);
});

it('counts a package once that links lead to, and ends if links lead in a circle', () => {
  install('packages/core', { version: '0.2.0' });
  install('packages/ring', { version: '0.2.0' });
  link('node_modules/@coll/core', 'packages/core');
  link('node_modules/@coll/ring', 'packages/ring');
  link('packages/ring/node_modules/@coll/core', 'packages/core');
  link('packages/core/node_modules/@coll/ring', 'packages/ring');
  expect(found()).toEqual(['@coll/core 0.2.0 packages/core', '@coll/ring 0.2.0 packages/ring']);
});

it('finds the packages that pnpm keeps', () => {
  install('node_modules/.pnpm/@coll+core@0.2.0/node_modules/@coll/core', { version: '0.2.0' });
  install('node_modules/.pnpm/@coll+ring@0.2.0/node_modules/@coll/ring', { version: '0.2.0' });
  link('node_modules/@coll/ring', 'node_modules/.pnpm/@coll+ring@0.2.0/node_modules/@coll/ring');
  expect(found()).toHaveLength(2);
});

it('leaves out packages that are not published, and manifests that cannot be read', () => {
  install('node_modules/@coll/bench', { version: '0.0.0', private: true });
  install('node_modules/@coll/damaged', '{ "version": ');
  install('node_modules/@coll/null', 'null');
  mkdirSync(path.join(folder, 'node_modules/@coll/empty'));
  expect(found()).toEqual([]);
});

it('recognizes the package manager by its lock file', () => {
  expect(findInstalled(folder)).toMatchObject({ manager: 'npm', isPlugAndPlay: false });
  for (const [file, manager] of [
    ['bun.lock', 'bun'],
    ['yarn.lock', 'yarn'],
    ['pnpm-lock.yaml', 'pnpm'],
  ] as const) {
    writeFileSync(path.join(folder, file), '');
    expect(findInstalled(path.join(folder, 'src')).manager).toBe(manager);
  }
  writeFileSync(path.join(folder, '.pnp.cjs'), '');
  expect(findInstalled(folder).isPlugAndPlay).toBe(true);
});
