import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toJavaScript } from '../package-shape/diagnose.ts';
import { plainEnvironment, readmeProgram } from '../package-shape/user-project.ts';
import { openRegistry, type Registry } from './registry.ts';
import { type Released, rehearse } from './rehearsal.ts';
import { published, root } from './workspaces.mjs';

const [, version] = /^## (\S+)$/m.exec(readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8')) ?? [];
const names = [...published.keys()];

describe('npm run release, against a registry on loopback', () => {
  const scratch = mkdtempSync(path.join(tmpdir(), 'coll-rehearsal-'));
  let registry: Registry;
  let released: Released;
  beforeAll(async () => {
    const files = path.join(scratch, 'registry');
    mkdirSync(files);
    registry = await openRegistry(files);
    released = await rehearse(registry, scratch);
  });
  afterAll(async () => {
    await registry?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  const run = (cwd: string, command: string, ...args: readonly string[]) =>
    execFileSync(command, args, {
      cwd,
      env: { ...plainEnvironment(), ...registry.env },
      encoding: 'utf8',
      stdio: 'pipe',
    });

  it('publishes the version of the changelog of every package', () => {
    expect(released.versions).toEqual(Object.fromEntries(names.map((name) => [name, [version]])));
  });

  it('tags the version of every package', () => {
    expect(released.tags.toSorted()).toEqual(names.map((name) => `${name}@${version}`).toSorted());
  });

  it('lists all packages, and what they depend on, in a bill of materials', () => {
    const { components } = JSON.parse(released.billOfMaterials) as { components: readonly { readonly purl: string }[] };
    const listed = components.map(({ purl }) => decodeURIComponent(purl).replace(/^pkg:npm\/(.*)@[^@]*$/, '$1'));
    expect(listed).toEqual(expect.arrayContaining([...names, 'commander']));
    expect(listed).not.toContain('vitest');
  });

  it('serves an empty project, where npm installs two packages and the first program of the README runs', () => {
    const project = path.join(scratch, 'project');
    mkdirSync(project);
    writeFileSync(path.join(project, 'package.json'), '{ "private": true, "type": "module" }');
    run(project, 'npm', 'install', '--no-audit', '--no-fund', '@coll/strategy', '@coll/ring');
    writeFileSync(path.join(project, 'first.js'), toJavaScript(readmeProgram()));
    expect(run(project, process.execPath, 'first.js')).toMatch(/1\.5, 3, 4\.5/);
    const lock = readFileSync(path.join(project, 'package-lock.json'), 'utf8');
    expect(lock).toContain(`"node_modules/@coll/native-`);
  });

  it('serves npm create coll, whose project runs in several processes', () => {
    run(scratch, 'npm', 'create', '--yes', 'coll', 'created', '--', '--kind', 'processes');
    const project = path.join(scratch, 'created');
    run(project, 'npm', 'install', '--no-audit', '--no-fund');
    const lines = run(project, 'npm', 'start', '--silent').trim().split('\n').toSorted();
    expect(lines).toEqual([0, 1, 2].map((rank) => `[${rank}] rank ${rank} of 3: 3 3`));
  });
});
