import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { collectives, contribution, expected, requireSame } from '../src/expect.js';
import { steps } from '../src/steps.js';

const native = path.resolve(import.meta.dirname, '../../../native/nccl');
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

describe('the result that gpu-check expects', () => {
  it('equals plain arithmetic', () => {
    const inputs = [0, 1].map((rank) => contribution(rank, 4, 'int32'));
    expect(inputs.map(({ data }) => [...data])).toEqual([
      [1, 3, 5, 2],
      [4, 1, 3, 5],
    ]);
    const results = collectives(1).map((collective) => [...expected(collective, inputs, 1).data]);
    expect(results).toEqual([
      [5, 4, 8, 7],
      [4, 3, 5, 5],
      [2.5, 2, 4, 3.5],
      [5, 4, 8, 7],
      [4, 1, 3, 5],
      [1, 3, 5, 2, 4, 1, 3, 5],
      [8, 7],
      [1, 3, 5, 2, 4, 1, 3, 5],
      [3, 5],
      [5, 2, 3, 5],
    ]);
  });

  it('is compared element by element, and an error names the element', () => {
    const [one, other] = [contribution(0, 5000, 'float32'), contribution(0, 5000, 'float32')];
    requireSame('it', one, other);
    other.data[4999] = 9;
    expect(() => requireSame('it', one, other)).toThrow(/^it: element 4999 is \d, not 9$/);
  });
});

it('every check is described in the docs', () => {
  const docs = readFileSync(path.resolve(native, '../../docs/guides/gpus.md'), 'utf8');
  const described = [...docs.matchAll(/^\| `([a-z-]+)(?:-…)?` \|/gm)].map(([, name]) => name);
  const names = Object.keys(steps).map((name) => name.replace(/^failure-.*/, 'failure'));
  expect([...new Set(names)]).toEqual(described);
});

describe('the start script of gpu-check', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-gpu-check-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs the script on a machine that only has these commands. */
  function begin(commands: Readonly<Record<string, string>>, variables: NodeJS.ProcessEnv = {}) {
    const bin = mkdtempSync(path.join(folder, 'bin-'));
    for (const name of ['dirname', 'mktemp', 'rm', 'chmod', 'ln', 'true'])
      symlinkSync(`/usr/bin/${name}`, path.join(bin, name));
    for (const [name, script] of Object.entries(commands))
      writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const script = path.resolve(import.meta.dirname, '../run.sh');
    const { status, stderr, stdout } = spawnSync('/bin/sh', [script], {
      env: { ...variables, PATH: bin },
      encoding: 'utf8',
    });
    return { status, stderr, stdout };
  }

  it.each([
    ['neither xz nor Python exists', {}],
    ['Python has no lzma', { python3: 'exit 1' }],
  ])('reports what is needed to unpack Node if %s', (_, commands) => {
    expect(begin(commands)).toEqual({
      status: 1,
      stderr: 'run.sh: unpacking Node takes xz, or python3 with lzma, and neither is here\n',
      stdout: '',
    });
  });

  it('reports why Node cannot run', () => {
    expect(begin({ xz: "echo '#!/bin/false'" })).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^run.sh: Node does not run here: .*glibc 2.28/),
      stdout: '',
    });
  });

  it('passes on the NCCL library that Python found, the files of the bundle, and the report folder', () => {
    const node = `echo '#!/bin/sh\necho "$COLL_NCCL_LIBRARY $COLL_NCCL_PATH $*"'`;
    const { status, stdout } = begin({
      xz: node,
      python3: 'echo /venv/libnccl.so.2; echo /usr/libnccl.so.2',
      head: 'read first; echo "$first"',
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^\/venv\/libnccl.so.2 \S+coll_nccl.node \S+gpu-check.mjs docs\/gpu$/m);
  });

  it('uses an installed Node, and limits its run time', () => {
    const node = path.join(mkdtempSync(path.join(folder, 'node-')), 'node');
    writeFileSync(node, '#!/bin/sh\necho "$*"\n', { mode: 0o755 });
    const limits = mkdtempSync(path.join(folder, 'limits-'));
    const timeout = `echo "$*" >>${limits}/calls; shift; while [ "\${1#-}" != "$1" ]; do shift; done; shift; "$@"`;
    const { status, stdout } = begin({ timeout }, { GPU_CHECK_NODE: node });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^\S+gpu-check.mjs docs\/gpu$/m)]);
    expect(readFileSync(path.join(limits, 'calls'), 'utf8')).toMatch(
      /^--foreground 5 true\n--foreground --kill-after=10 600 \S+\/node \S+gpu-check.mjs docs\/gpu\n$/,
    );
  });

  it('works without Python, and with a Python that finds no NCCL', () => {
    const node = `echo '#!/bin/sh\necho "NCCL: $COLL_NCCL_LIBRARY"'`;
    for (const python of [{}, { python3: 'exit 1', head: 'exit 0' }])
      expect(begin({ xz: node, ...python })).toMatchObject({ status: 0, stdout: expect.stringMatching(/^NCCL: $/m) });
  });
});

it('without a GPU gpu-check reports what is missing, and runs no checks', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-gpu-check-'));
  const environment = {
    ...process.env,
    COLL_CUDA_LIBRARY: '/nowhere/libcuda.so.1',
    COLL_NCCL_PATH: path.join(native, 'build/release/coll_nccl.node'),
  };
  const options = { cwd: path.dirname(main), env: environment, stdio: 'pipe' } as const;
  expect(() => execFileSync(process.execPath, [main, folder], options)).toThrow();
  const [file = ''] = readdirSync(folder);
  const { backend, results } = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  expect(backend).toBe('no GPU');
  expect(results[0]).toMatchObject({ step: 'probe', outcome: 'failed', reason: expect.stringMatching(/\w{3}/) });
  const others = results.slice(1).map(({ outcome, reason }: Record<string, string>) => [outcome, reason]);
  expect(new Set(others.flat())).toEqual(new Set(['not run', 'probe failed']));
  rmSync(folder, { recursive: true });
});
