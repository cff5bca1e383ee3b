import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import './doubles.ts';

const addon = process.env['COLL_NCCL_PATH'] ?? path.resolve(import.meta.dirname, '../build/release/coll_nccl.node');

/** Fills memory of a GPU again and again, and ends in the midst of it. */
const busyThread = (end: string) => `
  const binding = require(${JSON.stringify(addon)});
  const { COLL_CUDA_LIBRARY: cudaLibrary } = process.env;
  binding.probe({ cudaLibrary });
  const bytes = 1 << 24;
  const buffer = binding.allocate(0, bytes);
  for (let i = 0; i < 20; i++) binding.fill(buffer, 0, bytes, new Uint8Array([i]));
  ${end}
`;

/** A program in which only this thread loads the addon, so that Node could unload it with the thread's end. */
const programWith = (thread: string) => `
  const { Worker } = require('node:worker_threads');
  const run = () => new Promise((ended) => new Worker(${JSON.stringify(thread)}, { eval: true }).once('exit', ended));
  run().then(run).then(() => setTimeout(() => console.log('alive'), 200));
`;

describe('a program whose only thread with GPUs ends', () => {
  it.each([
    ['once its work is done', ''],
    ['with work in progress', 'process.exit();'],
    ['while a result arrives', 'binding.read(buffer, 0, new Uint8Array(bytes)); setImmediate(() => process.exit());'],
  ])('keeps running if the thread ends %s', (_, end) => {
    const program = programWith(busyThread(end));
    const node = ['--eval', program];
    const environment = { ...process.env, NODE_OPTIONS: '' };
    expect(execFileSync(process.execPath, node, { env: environment, encoding: 'utf8' })).toBe('alive\n');
  });
});

describe('a thread that ends with open groups', () => {
  it('closes them, so that other ranks fail, and leaves nothing allocated', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'coll-nccl-threads-'));
    const file = path.join(folder, 'counts');
    const program = path.join(import.meta.dirname, 'sanitized/thread-groups.mjs');
    const environment = { ...process.env, NODE_OPTIONS: '', COLL_NCCL_PATH: addon, COLL_DOUBLE_COUNTS: file };
    execFileSync(process.execPath, [program], { env: environment, encoding: 'utf8' });
    const counts = Object.fromEntries(
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(' ')),
    );
    rmSync(folder, { recursive: true });
    // What the libraries themselves have left when the process ends; streams belong to the GPUs.
    expect(counts).toMatchObject({ communicators: '0', blocks: '0' });
  });
});
