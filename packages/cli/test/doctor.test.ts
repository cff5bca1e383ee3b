import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findMachine } from '@coll/native/machine';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { askProject } from '../src/project-question.js';
import { Running } from './launcher.js';

const launcher = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const root = mkdtempSync(path.join(tmpdir(), 'coll-doctor-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folder = root;
beforeEach(() => {
  folder = mkdtempSync(path.join(root, 'project-'));
});

/** A package with only a manifest, or with a module. */
function install(name: string, version: string, module?: string): void {
  const target = path.join(folder, 'node_modules', name);
  mkdirSync(target, { recursive: true });
  writeFileSync(path.join(target, 'package.json'), JSON.stringify({ name, version, main: 'index.cjs' }));
  if (module !== undefined) writeFileSync(path.join(target, 'index.cjs'), module);
}

function doctor(args: readonly string[], env: Record<string, string> = {}) {
  return new Running([process.execPath, launcher, 'doctor', ...args], { cwd: folder, env }).outcome;
}

async function reportOf(args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await doctor(['--json', ...args], env);
  expect(stderr).toBe('');
  const { verdict, lines } = JSON.parse(stdout) as { verdict: string; lines: readonly Record<string, unknown>[] };
  const line = (name: string) => lines.find((each) => each['name'] === name);
  return { code, verdict, lines, line };
}

it('prints a line per fact, with a verdict and the cure', async () => {
  const { code, stdout, stderr } = await doctor([]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const names = ['system', 'processor', 'cores', 'NUMA', 'caches', 'helpers', 'packages', 'engine', 'native binary'];
  const others = ['thresholds', 'shared memory', 'memory access', 'huge pages', 'open files', 'host name', 'address'];
  for (const name of [...names, ...others, 'ports', 'TLS', 'encryption', 'records', 'MPI', 'NCCL', 'GPUs', '/dev/shm'])
    expect(stdout).toMatch(new RegExp(`^(ok|slow)? +${name} +\\S`, 'm'));
  expect(stdout).not.toContain('\u001b');
});

it('prints JSON with the facts', async () => {
  const { code, verdict, lines, line } = await reportOf([]);
  expect({ code, verdict }).toEqual({ code: 0, verdict: expect.stringMatching(/^(ok|slow)$/) });
  expect(line('system')).toMatchObject({ verdict: 'ok', data: { node: process.versions.node } });
  const { cores, quota } = findMachine();
  expect(line('cores')).toMatchObject({ data: JSON.parse(JSON.stringify({ cores, quota })) });
  expect(line('packages')).toMatchObject({ text: 'no @coll packages in this folder or above' });
  expect(line('MPI')).toEqual({ name: 'MPI', text: '@coll/mpi is not installed', data: { isInstalled: false } });
  for (const each of lines) expect('cure' in each).toBe(each['verdict'] === 'slow' || each['verdict'] === 'broken');
});

it('prints the number of cores of COLL_CORES', async () => {
  expect((await doctor([], { COLL_CORES: '1' })).stdout).toMatch(/^ +cores +1 core by COLL_CORES/m);
});

it('reports whether and how connections between hosts are encrypted', async () => {
  const { line } = await reportOf([]);
  const text = expect.stringMatching(/^TLS_(AES_128_GCM|CHACHA20_POLY1305)_SHA256 between hosts/);
  expect(line('encryption')).toMatchObject({ verdict: expect.stringMatching(/^(ok|slow)$/), text });
  const open = await reportOf([], { COLL_INSECURE: '1' });
  expect(open.line('encryption')?.['text']).toBe(
    'none between hosts, because COLL_INSECURE is set; data is checksummed',
  );
});

it('exits with code 2 if a setting is invalid', async () => {
  const { code, verdict, line } = await reportOf([], { COLL_CORES: 'seven' });
  expect({ code, verdict }).toEqual({ code: 2, verdict: 'broken' });
  expect(line('cores')).toEqual({
    name: 'cores',
    verdict: 'broken',
    text: 'COLL_CORES must be a whole number from 1 to 8192, got "seven"',
    cure: 'correct COLL_CORES, or unset it',
  });
});

it('exits with code 2 if COLL_ENGINE is unknown', async () => {
  const { code, line } = await reportOf([], { COLL_ENGINE: 'fast' });
  expect(code).toBe(2);
  expect(line('engine')).toMatchObject({
    verdict: 'broken',
    text: `COLL_ENGINE must be one of 'auto', native, wasm, js, got "fast"`,
    cure: 'unset COLL_ENGINE, or set it to native, wasm, js or auto',
  });
});

it('reports a slower engine without the native one, and exits with code 1 only with --strict', async () => {
  const env = { COLL_NATIVE_PATH: '/nonexistent' };
  const { code, verdict, line } = await reportOf([], env);
  expect({ code, verdict }).toEqual({ code: 0, verdict: 'slow' });
  expect(line('engine')).toMatchObject({
    verdict: 'slow',
    text: expect.stringMatching(/^wasm; .*COLL_NATIVE_PATH=\/nonexistent \(no such file\)/),
    cure: 'unset COLL_NATIVE_PATH, or set it to a binary that can be loaded',
  });
  expect((await reportOf(['--strict'], env)).code).toBe(1);
  const required = await reportOf([], { ...env, COLL_ENGINE: 'native' });
  expect(required.code).toBe(2);
  expect(required.line('engine')).toMatchObject({
    verdict: 'broken',
    cure: expect.stringMatching(/^unset COLL_NATIVE/),
  });
});

it('exits with code 2 if packages of the project have different versions', async () => {
  install('@coll/core', '0.1.0');
  install('@coll/ring', '0.1.1');
  const { code, line } = await reportOf(['--strict']);
  expect(code).toBe(2);
  expect(line('packages')).toMatchObject({
    verdict: 'broken',
    text: 'different versions: 0.1.0 of @coll/core; 0.1.1 of @coll/ring',
    cure: 'npm install @coll/core@0.1.1',
  });
});

it('asks the packages for MPI and NCCL that the project has', async () => {
  install('@coll/mpi', '0.1.0', 'exports.probe = () => ({ available: true, version: "MPICH 4, of x", path: "/m.so" })');
  const gpu = '{ index: 0, name: "H200", bytes: 1 }';
  const nccl = `{ available: false, reason: "no NCCL", driver: { path: "/c", version: "13.0" }, devices: [${gpu}] }`;
  install('@coll/nccl', '0.1.0', `console.log("loading"); exports.probe = () => (${nccl})`);
  const { code, line } = await reportOf([]);
  expect(code).toBe(2);
  expect(line('MPI')).toMatchObject({ verdict: 'ok', text: 'MPICH 4 (/m.so)' });
  expect(line('NCCL')).toMatchObject({ verdict: 'broken', text: 'no NCCL', cure: expect.stringMatching(/libnccl2/) });
  expect(line('GPUs')).toMatchObject({ text: '1 x H200' });
});

it('reports a package that is installed only in part', async () => {
  install('@coll/mpi', '0.1.0');
  const reply = await askProject('mpi', folder);
  expect(reply).toEqual({ failure: expect.stringMatching(/node_modules.@coll.mpi has no module$/) });
  expect(await askProject('nccl', folder)).toEqual({ answer: {} });
});

it('survives packages that crash the process', async () => {
  install('@coll/mpi', '0.1.0', 'process.stderr.write("libmpi: bad day\\n"); process.kill(process.pid, "SIGKILL")');
  const { line } = await reportOf([]);
  expect(line('MPI')).toMatchObject({
    verdict: 'broken',
    text: '@coll/mpi could not be probed: its process ended by SIGKILL: libmpi: bad day',
  });
});

it('reports an address that does not exist here', async () => {
  const { code, line } = await reportOf([], { COLL_HOST: 'no.such.host.invalid' });
  expect(code).toBe(2);
  expect(line('address')).toMatchObject({ verdict: 'broken', cure: expect.stringMatching(/^export COLL_HOST=/) });
  const foreign = await reportOf([], { COLL_HOST: '198.51.100.7' });
  expect(foreign.line('ports')).toMatchObject({
    verdict: 'broken',
    text: 'no port can be bound at 198.51.100.7: this host does not have the address',
  });
});

it('reports a port of the store that is in use', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cluster = { worker: [`127.0.0.1:${port}`] };
  const { line } = await reportOf([], { TF_CONFIG: JSON.stringify({ cluster, task: { type: 'worker', index: 0 } }) });
  server.close();
  expect(line('address')).toMatchObject({ verdict: 'ok' });
  expect(line('ports')).toMatchObject({
    verdict: 'broken',
    text: `port ${port} cannot be bound at 127.0.0.1: it is in use`,
  });
});

it('gives up on a package that does not answer', async () => {
  install('@coll/mpi', '0.1.0', 'exports.probe = () => { for (;;); }');
  expect(await askProject('mpi', folder, 1)).toEqual({ failure: 'no answer within 1 seconds' });
});
