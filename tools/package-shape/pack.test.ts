import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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

describe('npm run pack', () => {
  it('prints the command that installs packages in a project, where the first program of the README runs', () => {
    const { stdout, stderr, status } = pack('strategy', '@coll/ring');
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    const project = mkdtempSync(path.join(folder, 'project-'));
    writeFileSync(path.join(project, 'package.json'), '{ "private": true, "type": "module" }');
    const options = {
      cwd: project,
      env: { ...plainEnvironment(), npm_config_offline: 'true' },
      encoding: 'utf8',
    } as const;
    execFileSync('sh', ['-c', stdout], options);
    writeFileSync(path.join(project, 'first.js'), toJavaScript(readmeProgram()));
    expect(execFileSync(process.execPath, ['first.js'], options)).toMatch(/1\.5, 3, 4\.5/);
    const installed = readdirSync(path.join(project, 'node_modules/@coll'));
    expect(installed).toEqual(expect.arrayContaining(['core', 'native', 'processes', 'ring', 'strategy']));
    expect(installed.some((name) => name.startsWith('native-'))).toBe(hasBinary('native'));
    expect(installed).not.toContain('tfjs');
  });

  it('refuses a package that does not exist, and lists all packages', () => {
    expect(pack('rings')).toMatchObject({
      ...{ status: 1, stdout: '' },
      stderr: expect.stringMatching(/^no package @coll\/rings: choose from @coll\/cli, @coll\/core, .*@coll\/ring, /),
    });
  });
});
