import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.js';
import type { Restartable } from './server-double.js';

export function installed(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined;
}

export async function startRedis(): Promise<Restartable> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'yes'];
  return started('redis-server', args, `redis://127.0.0.1:${port}`, port);
}

export async function startEtcd(): Promise<Restartable> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const peers = `http://127.0.0.1:${peerPort}`;
  const args = ['--listen-client-urls', url, '--advertise-client-urls', url, '--listen-peer-urls', peers];
  const more = ['--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`];
  return started('etcd', [...args, ...more], url, port);
}

async function started(program: string, args: readonly string[], url: string, port: number): Promise<Restartable> {
  const cwd = await mkdtemp(path.join(tmpdir(), 'coll-'));
  let child: ChildProcess;
  const start = async () => {
    child = spawn(program, args, { cwd, stdio: 'ignore' });
    await untilListening(program, child, port);
  };
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  };
  const forget = async () => {
    for (const name of await readdir(cwd)) await rm(path.join(cwd, name), { recursive: true });
  };
  const close = async () => {
    await stop();
    await rm(cwd, { recursive: true, force: true });
  };
  await start();
  return { url, stop, forget, start, close };
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
