import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.js';

export interface RunningServer {
  readonly url: string;
  close(): Promise<void>;
}

export function installed(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined;
}

export async function startRedis(): Promise<RunningServer> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  return started('redis-server', args, `redis://127.0.0.1:${port}`, port);
}

export async function startEtcd(): Promise<RunningServer> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const peers = `http://127.0.0.1:${peerPort}`;
  const args = ['--listen-client-urls', url, '--advertise-client-urls', url, '--listen-peer-urls', peers];
  const more = ['--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`];
  return started('etcd', [...args, ...more], url, port);
}

async function started(program: string, args: readonly string[], url: string, port: number): Promise<RunningServer> {
  const cwd = await mkdtemp(path.join(tmpdir(), 'coll-'));
  const child = spawn(program, args, { cwd, stdio: 'ignore' });
  await untilListening(program, child, port);
  return {
    url,
    async close() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
      await rm(cwd, { recursive: true, force: true });
    },
  };
}

async function untilListening(program: string, child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; tries < 2000; tries++) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${program} does not listen at ${port}`);
}
