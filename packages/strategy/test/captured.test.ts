import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { TcpStoreServer } from '@coll/rendezvous';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TwoHosts, whatHostsLack } from './two-hosts.ts';

const lack = whatHostsLack();
const program = fileURLToPath(new URL('./fixtures/captured-worker.ts', import.meta.url));
const name = 'the-name-of-a-tensor';
const value = Math.fround(Math.PI);
// Several packets.
const length = 50_000;

let folder: string;
let hosts: TwoHosts;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-captured-'));
  hosts = new TwoHosts(path.join(folder, 'packets'));
});
afterEach(() => {
  hosts.close();
  rmSync(folder, { recursive: true });
});

/** What a capture between two hosts contains, each of which runs a worker. */
async function captureOf(more: { readonly insecure?: true }) {
  await hosts.open();
  const jobKey = TcpStoreServer.newKey();
  const cluster = { worker: hosts.addresses.map((address) => `${address}:2222`) };
  const args = [process.execPath, program, JSON.stringify({ name, length, value, ...more })];
  const outputs = await Promise.all(
    ([0, 1] as const).map((index) => {
      const task = { type: 'worker', index };
      return hosts.run(index, args, { COLL_JOB_KEY: jobKey, TF_CONFIG: JSON.stringify({ cluster, task }) });
    }),
  );
  const packets = await hosts.captured();
  const bytesOf = (number: number) => Buffer.from(new Float32Array(8).fill(number).buffer);
  return {
    outputs,
    bytes: packets.length,
    hasGradient: packets.includes(bytesOf(value)) || packets.includes(bytesOf(2 * value)),
    hasName: packets.includes(name),
    hasKey: packets.includes(jobKey) || packets.includes(Buffer.from(jobKey, 'base64url')),
  };
}

describe.skipIf(lack !== undefined)(`a capture between two hosts${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('holds no gradient, key or name of a tensor with default settings', async () => {
    const { outputs, bytes, ...found } = await captureOf({});
    for (const output of outputs) expect(output).toMatch(/on another host, host-[01]; encrypted by TLS_/);
    // At least what one worker has sent.
    expect(bytes).toBeGreaterThan(4 * length);
    expect(found).toEqual({ hasGradient: false, hasName: false, hasKey: false });
  });

  it('holds the gradient with insecure: true, so that the capture would find it', async () => {
    const { outputs, hasGradient, hasKey } = await captureOf({ insecure: true });
    for (const output of outputs) expect(output).toMatch(/on another host, host-[01]; checksummed, not encrypted/);
    expect([hasGradient, hasKey]).toEqual([true, false]);
  });
});
