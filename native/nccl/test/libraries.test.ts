import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import './doubles.ts';

const program = fileURLToPath(new URL('./fixtures/probes.ts', import.meta.url));
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'coll-nccl-libraries-')));

/** A copy of the double where a Python environment has NCCL. */
function environmentIn(place: string): { readonly environment: string; readonly library: string } {
  const environment = path.join(folder, place);
  const library = path.join(environment, 'lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2');
  mkdirSync(path.dirname(library), { recursive: true });
  copyFileSync(process.env['COLL_NCCL_LIBRARY'] as string, library);
  return { environment, library };
}

/** What a process finds that probes with each of these in turn, and what it logs. */
function probes(cwd: string, paths: readonly (string | null)[], more: NodeJS.ProcessEnv = {}) {
  const { COLL_NCCL_LIBRARY: _, VIRTUAL_ENV: __, CONDA_PREFIX: ___, ...others } = process.env;
  const env = { ...others, NODE_OPTIONS: '', HOME: folder, ...more };
  const output = execFileSync(process.execPath, [program, ...paths.map((each) => each ?? '')], {
    cwd,
    env,
    encoding: 'utf8',
  });
  return JSON.parse(output);
}

describe('the NCCL library of a process', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is found in a Python environment in the current folder, and its path is logged', () => {
    const project = path.join(folder, 'project');
    const { library } = environmentIn('project/.venv');
    const { found, logged } = probes(project, [null]);
    expect(found).toEqual([{ available: true, path: library }]);
    expect(logged).toEqual([
      `info NCCL is loaded from ${library}, a Python environment in the current folder; set COLL_NCCL_LIBRARY to use another library`,
    ]);
  });

  it('is exactly the one that libraryPath names', () => {
    const { environment, library } = environmentIn('named');
    const { library: other } = environmentIn('other');
    const missing = path.join(folder, 'missing');
    const { found, logged } = probes(folder, [missing, null, environment, library, null, other]);
    const refused = {
      available: false,
      reason: expect.stringMatching(/cannot open the NCCL library given by libraryPath: .*\/missing/),
    };
    const taken = { available: true, path: library };
    expect(found).toEqual([
      refused,
      refused,
      taken,
      taken,
      taken,
      {
        error: `libraryPath is ${other}, but this process uses ${library} already: set it before anything else uses NCCL`,
        name: 'ValueError',
        code: 'ERR_COLL_REFUSED',
      },
    ]);
    expect(logged).toEqual([]);
  });

  it('is not available in a container without NVML, and the error says what to do', () => {
    const { library } = environmentIn('contained');
    const reason = expect.stringMatching(
      /^NCCL needs NVML, .*NVIDIA_DRIVER_CAPABILITIES=compute,utility.*COLL_NVML_LIBRARY to the file$/,
    );
    const { found } = probes(folder, [library], { COLL_NVML_LIBRARY: '/nowhere/libnvidia-ml.so.1' });
    expect(found).toEqual([{ available: false, reason }]);
  });
});
