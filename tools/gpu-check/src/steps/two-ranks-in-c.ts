import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { amount } from '../arena.js';
import { OtherProgram } from '../other-program.js';
import type { Step } from '../step.js';
import { asTwoHosts } from '../two-processes.js';

/**
 * If this fails, two ranks cannot share the GPU of this machine, and later failures with two ranks are not
 * caused by this library.
 */
export const twoRanksInC: Step = {
  claim: 'a program in C has two ranks on this GPU by the same set-up: sums of 4 B to 64 MiB',
  seconds: 60,
  async run() {
    const folder = mkdtempSync(path.join(tmpdir(), 'coll-meeting-'));
    const start = (rank: number) =>
      OtherProgram.inC(amount(64, 1), rank, path.join(folder, 'id'), {
        ...process.env,
        ...asTwoHosts,
        NCCL_HOSTID: `coll-c-${rank}`,
      });
    try {
      const [first, second] = (await Promise.all([start(0), start(1)])) as [OtherProgram, OtherProgram];
      const sizes = amount([4, 2 ** 20, 2 ** 26], [4, 2 ** 20]);
      for (const bytes of sizes) {
        const timing = { bytes, calls: 1, repetitions: 1, isEach: true };
        await Promise.all([first, second].map((program) => program.times('all-reduce', timing)));
      }
      await Promise.all([first, second].map((program) => program[Symbol.asyncDispose]()));
      return { facts: { nccl: first.facts, sizes } };
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
