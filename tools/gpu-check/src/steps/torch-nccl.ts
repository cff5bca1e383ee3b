import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NcclCommunicator, probe } from '@coll/nccl';
import { contribution, requireSame } from '../expect.js';
import { OtherProgram } from '../other-program.js';
import { NotHere, type Step } from '../step.js';
import { factsOf, processOf } from '../two-processes.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;

/** Finds PyTorch's NCCL in a Python environment, as for a user who only sets `VIRTUAL_ENV`. */
export const torchNccl: Step = {
  claim: 'NCCL of PyTorch is found by VIRTUAL_ENV, and used',
  // Python reads gigabytes at its first start.
  seconds: 120,
  async run() {
    const program = await OtherProgram.inPyTorch(1);
    const { library, ...facts } = program.facts;
    await program[Symbol.asyncDispose]();
    if (typeof library !== 'string')
      throw new NotHere('NCCL is a part of this PyTorch, and no file that others can open');
    const environment = mkdtempSync(path.join(tmpdir(), 'coll-venv-'));
    try {
      // Packages of distributions are in other folders than packages of environments. This links the files of a
      // distribution, if there are any.
      const packages = path.join(environment, 'lib/python3.0/site-packages/nvidia/nccl');
      mkdirSync(packages, { recursive: true });
      symlinkSync(path.dirname(library), path.join(packages, 'lib'));
      const { COLL_NCCL_LIBRARY: _, CONDA_PREFIX: __, ...env } = process.env;
      const found = await processOf('torch-nccl', 0, '', { ...env, VIRTUAL_ENV: environment });
      const used = factsOf('the process in the environment', found);
      if (!String(used['path']).startsWith(environment))
        throw new NotHere(`NCCL of the system comes first: ${used['path']}`);
      return { facts: { ...facts, library, used } };
    } finally {
      rmSync(environment, { recursive: true });
    }
  },
  async rank() {
    await using communicator = await NcclCommunicator.open(['gpu:0']);
    const [input, output] = [contribution(0, 1000, 'float32'), contribution(1, 1000, 'float32')];
    await communicator.run(sum, [input], [output]);
    requireSame('an all-reduce', output, input);
    return { ...probe().nccl };
  },
};
