import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import './doubles.ts';

const addon = process.env['COLL_NCCL_PATH'] ?? path.resolve(import.meta.dirname, '../build/release/coll_nccl.node');
const program = path.join(import.meta.dirname, 'fixtures/exits.mjs');
const folder = mkdtempSync(path.join(tmpdir(), 'coll-nccl-exit-'));
const control = path.join(folder, 'control');

/** Only a process that hangs reaches it. */
const timeout = 20_000;

describe('a process that exits while GPUs execute its work', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['exit() in a collective that never ends', 'exitInCollective', 'stuck collective', 7],
    ['exit() while a blocking collective is launched', 'exitInLaunch', 'stuck collective\nslow connect 200', 7],
    ['exit() while a collective is launched', 'exitInNonBlockingLaunch', 'stuck collective\nslow connect 200', 7],
    ['exit() while a blocking group is opened', 'exitInOpening', '', 7],
    ['exit() while a group is opened', 'exitInNonBlockingOpening', '', 7],
    ['exit() while a group is destroyed', 'exitInDestroy', 'slow collective 3000', 7],
    ['exit() during copies', 'exitInCopies', '', 7],
    ['the end of the program in an abort that hangs', 'endInAbort', 'stuck collective\nstuck abort', 0],
    ['the end of the program after a timeout', 'endAfterTimeout', 'stuck collective\nstuck abort rank=1', 0],
    ['an exception in a collective that never ends', 'throwInCollective', 'stuck collective', 1],
  ])('exits at once and with its own exit code: %s', (_, name, wishes, status) => {
    writeFileSync(control, `${wishes}\n`);
    const env = { ...process.env, NODE_OPTIONS: '', COLL_NCCL_PATH: addon, COLL_DOUBLE_CONTROL: control };
    const ended = spawnSync(process.execPath, [program, name], { env, encoding: 'utf8', timeout });
    expect([ended.status, ended.signal, ended.stdout]).toEqual([status, null, 'ending\n']);
  });
});
