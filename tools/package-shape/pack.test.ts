import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toJavaScript } from './diagnose.ts';
import { hasBinary, plainEnvironment, readmeProgram, root } from './user-project.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll pack-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What `npm run pack` prints. */
function pack(...names: readonly string[]) {
  const args = ['run', '--silent', 'pack', '--', ...names, '--to', path.join(folder, 'tarballs')];
  return spawnSync('npm', args, { cwd: root, env: plainEnvironment(), encoding: 'utf8' });
}

/** The command of a package manager in the output. */
const commandOf = (manager: string, output: string) =>
  new RegExp(`^${manager}: +(.*)$`, 'm').exec(output)?.[1] as string;

describe('npm run pack', () => {
  it('prints a command for npm that installs packages in a project, where the first program of the README runs', () => {
    const { stdout, stderr, status } = pack('strategy', '@coll/ring');
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const project = mkdtempSync(path.join(folder, 'project-'));
    writeFileSync(path.join(project, 'package.json'), '{ "private": true, "type": "module" }');
    const options = {
      cwd: project,
      env: { ...plainEnvironment(), npm_config_offline: 'true' },
      encoding: 'utf8',
    } as const;
    execFileSync('sh', ['-c', commandOf('npm', stdout)], options);
    writeFileSync(path.join(project, 'first.js'), toJavaScript(readmeProgram()));
    expect(execFileSync(process.execPath, ['first.js'], options)).toMatch(/1\.5, 3, 4\.5/);
    const installed = readdirSync(path.join(project, 'node_modules/@coll'));
    expect(installed).toEqual(expect.arrayContaining(['core', 'native', 'processes', 'ring', 'strategy']));
    expect(installed.some((name) => name.startsWith('native-'))).toBe(hasBinary('native'));
    expect(installed).not.toContain('tfjs');
    // Package managers that ask the registry for a package unless the project overrides it.
    const overridden = readFileSync(path.join(folder, 'tarballs/pnpm-workspace.yaml'), 'utf8');
    for (const name of installed) expect(overridden).toContain(`  '@coll/${name}': "file:`);
    for (const manager of ['pnpm', 'Yarn', 'Bun']) expect(commandOf(manager, stdout)).toContain(folder);
  });

  it('prints how long each part usually takes', () => {
    const { stderr } = pack('ring');
    expect(stderr).toMatch(/^build: 3 packages, usually about \d+ s \.\.\.$/m);
    expect(stderr).toMatch(/^pack: .*, usually about \d+ s \.\.\.$/m);
    expect(stderr).not.toMatch(/^(engine|nccl|mpi):/m);
  });

  it('refuses a package that does not exist, and lists all packages', () => {
    expect(pack('rings')).toMatchObject({
      ...{ status: 1, stdout: '' },
      stderr: expect.stringMatching(/^no package @coll\/rings: choose from @coll\/cli, @coll\/core, .*@coll\/ring, /),
    });
  });
});
