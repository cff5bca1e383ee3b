// The training example, unchanged, under real launchers: by the transport of this project, and by MPI.
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Launcher, mpiruns, registered, run, sruns, useSlurm } from './launchers.ts';

const program = fileURLToPath(new URL('../../../examples/train/main.ts', import.meta.url));
const settings = '--replicas 1 --epochs 1 --samples 256 --batch-size 64'.split(' ');

const train = (launcher: Launcher, ranks: number, env: Readonly<Record<string, string>>) =>
  run(launcher, ranks, [program, ...settings], env);

function trainsUnder(launcher: Launcher, ranks: number): void {
  const isSkipped = launcher.missing !== undefined;
  const last = (transport: string) => [
    `${ranks} workers, connected by ${transport}`,
    `weights identical on all ${ranks} workers: yes`,
  ];
  it.skipIf(isSkipped)(`trains on ${ranks} workers by the transport of coll, without any setting`, async () => {
    const { code, lines, errors } = await train(launcher, ranks, {});
    expect({ lines: lines.slice(-2), code }, errors).toEqual({ lines: last('shared-memory'), code: 0 });
  });
  it.skipIf(isSkipped)(`trains on ${ranks} workers by MPI if @coll/mpi is registered`, async () => {
    const { code, lines, errors } = await train(launcher, ranks, registered);
    expect({ lines: lines.slice(-2), code }, errors).toEqual({ lines: last('mpi'), code: 0 });
  });
}

describe.each(mpiruns.map((launcher) => [launcher.name, launcher] as const))('under %s', (_, launcher) => {
  trainsUnder(launcher, 4);
});

describe('in Slurm', () => {
  useSlurm();
  describe.each(sruns.map((launcher) => [launcher.name, launcher] as const))('under %s', (_, launcher) => {
    trainsUnder(launcher, 4);
  });
});
