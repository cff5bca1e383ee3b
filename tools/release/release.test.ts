import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const { version }: { version: string } = JSON.parse(
  readFileSync(path.join(root, 'native/engine/package.json'), 'utf8'),
);
const notLinux = ['linux-x64-musl', 'linux-arm64-musl', 'linux-arm64-gnu', 'darwin-arm64', 'darwin-x64', 'win32-x64'];
const onlyOne = notLinux.flatMap((platform) => ['--without', platform]);
const withBinary = ['native', 'nccl', 'mpi'];
const packages = [...withBinary, ...withBinary.map((name) => `${name}-linux-x64-gnu`)];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-release-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a tarball with nothing but a manifest. */
function write(name: string, optionalDependencies: Readonly<Record<string, string>>): void {
  const stage = path.join(folder, 'package');
  mkdirSync(stage, { recursive: true });
  writeFileSync(
    path.join(stage, 'package.json'),
    JSON.stringify({ name: `@coll/${name}`, version, optionalDependencies }),
  );
  spawnSync('tar', ['-czf', `coll-${name}-${version}.tgz`, 'package'], { cwd: folder });
}

function release(...args: string[]) {
  const command = [path.join(root, 'tools/release/release.mjs'), folder, '--dry-run', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('a release', () => {
  it('is refused if tarballs of platform packages are missing, with an error that names them', () => {
    for (const name of withBinary) write(name, {});
    const { status, stdout, stderr } = release();
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('@coll/native-darwin-arm64: ');
    for (const name of ['nccl', 'mpi']) {
      expect(stderr).toContain(`@coll/${name}-linux-x64-gnu: `);
      expect(stderr).not.toContain(`@coll/${name}-darwin`);
    }
  });

  it('is refused if a package does not depend on a platform package that has a tarball', () => {
    for (const name of packages) write(name, {});
    const { status, stderr } = release(...onlyOne);
    expect(status).toBe(1);
    expect(stderr).toContain(`@coll/native: its tarball does not depend on @coll/native-linux-x64-gnu ${version}`);
  });

  it('publishes platform packages before the packages that depend on them', () => {
    for (const name of packages) write(name, { [`@coll/${name}-linux-x64-gnu`]: version });
    const { status, stdout } = release(...onlyOne);
    expect(status).toBe(0);
    const order = withBinary.flatMap((name) => [`${name}-linux-x64-gnu`, name]);
    const lines = order.map((name) => `npm publish ${path.join(folder, `coll-${name}-${version}.tgz`)}\n`);
    expect(stdout).toBe(lines.join(''));
  });

  it.each(['native/engine', 'native/nccl', 'native/mpi'])('is refused if started in the folder %s', (name) => {
    const { status, stderr } = spawnSync('npm', ['publish', '--dry-run'], {
      cwd: path.join(root, name),
      encoding: 'utf8',
    });
    expect(status).toBe(1);
    expect(stderr).toContain('must be published from its tarballs');
  });
});
